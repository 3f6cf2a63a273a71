"""mlflow: the trace that its autologging records of an agent's run."""

import os
import tempfile

os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # mlflow-skinny has no database
import mlflow
import mlflow.smolagents
from scripted_model import ScriptedModel
from smolagents import CodeAgent

mlflow.set_tracking_uri(f"file://{tempfile.mkdtemp()}")
mlflow.set_experiment("downstream")
mlflow.smolagents.autolog()

agent = CodeAgent([], model=ScriptedModel("total = 40", "final_answer(total + 2)"))
assert agent.run("What is the answer?") == 42

trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
names = [span.name for span in trace.data.spans]
assert "CodeAgent.run" in names, names
print(f"a trace of: {', '.join(names)}")

"""A plug-in: ``executor_type`` finds an executor that another package registers."""

from scripted_model import ScriptedModel
from smolagents import CodeAgent

agent = CodeAgent(
    [], model=ScriptedModel("final_answer(6 * 7)"), executor_type="downstream-example"
)
assert type(agent.python_executor).__name__ == "ExampleExecutor"
assert agent.run("What is the answer?") == 42
assert agent.python_executor.calls == 1
print("executor_type='downstream-example' ran the code")

"""Pickles that upstream's release has made."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from smolagents.local_python_executor import InterpreterError

from smolagents_fork import LocalPythonExecutor

pytestmark = pytest.mark.network

PICKLE = """
import pickle, sys
from smolagents import FinalAnswerTool
from smolagents.local_python_executor import InterpreterError, LocalPythonExecutor

assert not LocalPythonExecutor.__module__.startswith("smolagents_fork")
executor = LocalPythonExecutor(["json"], max_print_outputs_length=100, timeout_seconds=7)
if "tools" in sys.argv:
    executor.send_tools({"final_answer": FinalAnswerTool()})
    executor("print('printed')")
executor.state["kept"] = [1, {"two": (2, 3)}]
error = InterpreterError("Import of socket is not allowed")
sys.stdout.buffer.write(pickle.dumps((executor, error)))
"""


@pytest.mark.parametrize("given", [(), ("tools",)], ids=["without tools", "with tools"])
def test_pickles_of_upstream_load(pristine_site, given):
    done = subprocess.run(
        # Without bytecode: other tests copy the same release.
        [sys.executable, "-B", "-c", PICKLE, *given],
        env={**os.environ, "PYTHONPATH": str(pristine_site)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    executor, error = pickle.loads(done.stdout)
    assert type(executor) is LocalPythonExecutor
    printed = str(executor.state.get("_print_outputs"))
    assert executor("import json\njson.dumps(kept)").output == '[1, {"two": [2, 3]}]'
    assert (executor.timeout_seconds, executor.max_print_outputs_length) == (7, 100)
    assert type(error) is InterpreterError
    if given:
        assert printed == "printed\n"
        assert executor("final_answer(kept[0])").is_final_answer
    assert pickle.loads(pickle.dumps(executor)).variables() == executor.variables()

"""Free-threaded builds of Python are refused where code needs the GIL."""

from __future__ import annotations

import sys
import sysconfig

import pytest
from smolagents import CodeAgent, LocalPythonExecutor
from smolagents.local_python_executor import evaluate_python_code

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError

WORDS = (
    " needs the GIL, but this Python is a free-threaded build: use "
    "executor_type='docker', or a Python with the GIL"
)


@pytest.fixture
def free_threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this Python say that it was built without the lock."""
    real = sysconfig.get_config_var
    monkeypatch.setattr(
        sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else real(name)
    )


@pytest.mark.usefixtures("free_threaded")
@pytest.mark.parametrize(
    ("start", "executor"),
    [
        pytest.param(lambda: LocalPythonExecutor([]), "LocalPythonExecutor", id="executor"),
        pytest.param(lambda: evaluate_python_code("1"), "LocalPythonExecutor", id="function"),
        pytest.param(lambda: CodeAgent(tools=[], model=None), "LocalPythonExecutor", id="agent"),
        pytest.param(
            ProcessExecutor,
            "ProcessExecutor",
            id="process",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="starts no child processes"),
        ),
    ],
)
def test_free_threaded_build_is_refused(start, executor):
    with pytest.raises(ExecutorStartError) as caught:
        start()
    assert str(caught.value) == f"{executor}{WORDS}"

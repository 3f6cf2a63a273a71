"""Exit code of a program in a container, requested before the engine knows it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.sandboxes.docker.streams import exec_stream
from smolagents_fork.sandboxes.docker.streams.exec_stream import exit_code

RUNS = {"Running": True, "ExitCode": None}
# Some engines have a number there before there is one.
RUNS_WITH_A_CODE = {"Running": True, "ExitCode": 0}


def engine(*answers):
    left = list(answers)
    return SimpleNamespace(exec_inspect=lambda _id: left.pop(0) if len(left) > 1 else left[0])


@pytest.mark.parametrize("before", [(), (RUNS,), (RUNS, RUNS_WITH_A_CODE, RUNS)])
@pytest.mark.parametrize("code", [0, 1])
def test_exit_code_that_comes_after_the_end_of_the_output(before, code):
    assert exit_code(engine(*before, {"Running": False, "ExitCode": code}), "c", "e") == code


def test_program_that_runs_on_without_its_output_is_an_error(monkeypatch):
    monkeypatch.setattr(exec_stream, "_EXIT_SECONDS", 0.05)
    with pytest.raises(ExecutorError, match=r"has ended, and the engine .* in 0\.05 s"):
        exit_code(engine(RUNS), "c", "e")

"""Ends of an executor: of a tool's call, and by ``cleanup()``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.codec.rpc import HostCalls
from smolagents_fork.deadline import Deadline
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.executors.session.exchange import Exchange
from smolagents_fork.executors.session.guest import Call


def test_interrupted_tool_is_an_error_of_its_call():
    def interrupt_tool(*_arguments, **_keywords):
        raise KeyboardInterrupt

    answers: list[bytes] = []
    call = Call(b"", lambda answer, _deadline: answers.append(answer))
    guest = SimpleNamespace(turn=lambda _seconds: call)
    calls = SimpleNamespace(handle=interrupt_tool)
    with pytest.raises(KeyboardInterrupt):
        Exchange(guest, Deadline(30), 1.0, lambda: False, calls).finish()
    inside = HostCalls(lambda *_request: answers[0], lambda: None, 1_000, lambda: None)
    with pytest.raises(RuntimeError, match="the call was cancelled on the host"):
        inside.call("tool", [], {})


class Faulty(ProcessExecutor):
    """An executor with a mistake in its cleanup."""

    def _cleanup(self) -> None:
        super()._cleanup()
        self.no_such_attribute()  # type: ignore[attr-defined]


@pytest.mark.parametrize("cls", [ProcessExecutor, LocalPythonExecutor])
def test_executor_whose_constructor_never_ran_is_cleaned_up(cls):
    cls.__new__(cls).cleanup()


def test_attribute_error_of_a_cleanup_is_raised():
    executor = Faulty([])
    with pytest.raises(AttributeError, match="no_such_attribute"):
        executor.cleanup()
    assert executor.closed

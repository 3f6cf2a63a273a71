"""Answers of an exchange to its guest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.codec.rpc import HostCalls
from smolagents_fork.deadline import Deadline
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

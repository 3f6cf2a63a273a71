"""A stop that the host asks for ends the program, at whatever moment its signal arrives."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest

from smolagents_fork.codec import decode
from smolagents_fork.guest.frames import Frame, Kind
from smolagents_fork.guest.guest_worker import Worker
from smolagents_fork.interpreter.guarded import Limits

OPTIONS = {
    "imports": [],
    "limits": dataclasses.asdict(Limits()),
    "memory": None,
    "max_value_bytes": 1000,
}


class Host:
    """Host's end of a connection that lives in this process.

    Args:
        *codes: the programs to run, one after another.
    """

    run = 0
    shield: Callable[[], contextlib.AbstractContextManager[None]]

    def __init__(self, *codes: str) -> None:
        self._runs = iter(enumerate(codes, 1))
        self.stop_asked = False
        self.sent: list[tuple[Kind, Any]] = []

    def receive(self) -> Frame | None:
        number, code = next(self._runs, (0, ""))
        return Frame(Kind.RUN, number, code.encode()) if number else None

    def send(self, kind: Kind, run: int, body: bytes = b"") -> None:
        self.sent.append((kind, decode(body)))

    def write(self, text: str) -> None:
        raise AssertionError(text)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Callable[[Worker, Any, str], list[str]]:
    """Let a signal arrive whenever a method is called; gives the methods that were called."""

    def arrive_in(worker: Worker, target: Any, name: str) -> list[str]:
        method, called = getattr(target, name), []

        def interrupted(*arguments: Any, **keywords: Any) -> Any:
            called.append(name)
            worker.stop_if_asked(2, sys._getframe())
            return method(*arguments, **keywords)

        monkeypatch.setattr(target, name, interrupted)
        return called

    return arrive_in


def test_signal_within_the_program_stops_it_and_the_next_run_works() -> None:
    host = Host("begun = 1\nstop()\nbegun = 2", "begun")
    worker = Worker(host, OPTIONS)

    def stop() -> None:
        host.stop_asked = True
        try:
            worker.stop_if_asked(2, sys._getframe())
        finally:
            host.stop_asked = False

    worker._interpreter.send_tools({"stop": stop})
    worker.serve()
    (first, failure), (second, value) = host.sent
    assert (first, failure["kind"]) == (Kind.FAILED, "TimeLimitExceededError")
    assert "stopped from outside" in failure["message"]
    assert (second, value) == (Kind.DONE, 1)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("meter", "begin"),
        ("meter", "finish_run"),
        ("meter", "ready_for_callbacks"),
        ("_threads", "end"),
        ("_loops", "close"),
    ],
)
def test_signal_while_a_run_begins_or_ends_leaves_it_whole(signals, part: str, name: str) -> None:
    host = Host("6 * 7", "6 * 7")
    worker = Worker(host, OPTIONS)
    called = signals(worker, getattr(worker._interpreter, part), name)
    begin = worker._interpreter.run

    def asked(code: str) -> Any:
        host.stop_asked = True  # after the look at the beginning
        try:
            return begin(code)
        finally:
            host.stop_asked = False

    worker._interpreter.run = asked  # type: ignore[method-assign, assignment]
    worker.serve()
    assert called == [name] * 2
    assert host.sent == [(Kind.DONE, 42)] * 2


def test_stop_asked_before_the_program_begins_leaves_nothing_to_run() -> None:
    host = Host("1 + 1")
    host.stop_asked = True
    Worker(host, OPTIONS).serve()
    ((kind, failure),) = host.sent
    assert (kind, failure["kind"]) == (Kind.FAILED, "TimeLimitExceededError")

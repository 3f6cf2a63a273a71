"""Interruptions and cleanup from another thread at critical moments take effect fully or not."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest
from background import eventually, process_gone, running

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ExecutorClosedError,
    InterpreterError,
    ProgramInterruptedError,
    SandboxTimeoutError,
    TimeLimitExceededError,
)
from smolagents_fork.guest.frames import Kind
from smolagents_fork.process import child_places
from smolagents_fork.process.child import Child


@pytest.fixture
def executor():
    with ProcessExecutor(additional_functions={"double": lambda number: number * 2}) as made:
        yield made


def test_interrupt_while_a_new_child_starts(executor, monkeypatch):
    spawn = child_places.spawn
    executor._session._drop()

    def interrupted(*arguments):
        monkeypatch.undo()
        executor.interrupt()
        return spawn(*arguments)

    monkeypatch.setattr(child_places, "spawn", interrupted)
    with pytest.raises(ProgramInterruptedError, match="before it began"):
        executor("begun = 1")
    assert executor("double(2)").output == 4


def test_interrupt_just_before_the_run_does_not_affect_it(executor, monkeypatch):
    begin = executor._bindings.calls.begin_run

    def begin_and_interrupt():
        begin()
        executor.interrupt()

    monkeypatch.setattr(executor._bindings.calls, "begin_run", begin_and_interrupt)
    assert executor("double(2)").output == 4


@pytest.mark.parametrize("end", ["value", "timeout", "answer", "interrupt"])
def test_signal_that_comes_after_its_run_stops_no_other(end):
    """The call of a tool makes the signal arrive during the next run."""

    def late():
        guest = executor._session.guest
        guest.process.interrupt(guest.last_run - 1)
        os.kill(executor.pid, signal.SIGINT)  # sent before the tool has returned

    tools = {"late": late, "stop": lambda: executor.interrupt(), "final_answer": lambda one: one}
    code, error = {
        "value": ("1", None),
        "answer": ("final_answer(1)", None),
        "timeout": ("import time\ntime.sleep(1000)", SandboxTimeoutError),
        "interrupt": ("while True: stop()", InterpreterError),
    }[end]
    limits = {"timeout_seconds": 3 if end == "timeout" else 60, "interrupt_grace_seconds": 60}
    with ProcessExecutor(**limits, additional_functions=tools) as executor:
        child = executor.pid
        for _ in range(2):
            with pytest.raises(error) if error else contextlib.nullcontext():
                executor(code)
            assert executor("late()\nlate()\nsum(range(1000))").output == 499500
        assert executor.pid == child


def test_signal_that_comes_before_the_program_stops_it_once_it_begins(monkeypatch):
    put = Child.put

    def interrupted(child, kind, run, body=b""):
        if kind is Kind.RUN:
            monkeypatch.undo()
            child.interrupt(run)
            os.kill(child.pid, signal.SIGINT)
        put(child, kind, run, body)

    with ProcessExecutor() as executor:
        child = executor.pid
        monkeypatch.setattr(Child, "put", interrupted)
        with pytest.raises(TimeLimitExceededError, match="stopped from outside"):
            executor("begun = 1")
        with pytest.raises(InterpreterError, match="begun"):
            executor("begun")
        assert executor.pid == child


@pytest.mark.parametrize("ask", ["call", "restart"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_cleanup_while_a_new_child_starts_leaves_none(executor, monkeypatch, ask, moment):
    spawn = child_places.spawn
    executor._session._drop()
    children = []

    def closed(*arguments):
        monkeypatch.undo()
        if moment == "before":
            executor.cleanup()
        children.append(spawn(*arguments))
        if moment == "after":
            executor.cleanup()
        return children[0]

    monkeypatch.setattr(child_places, "spawn", closed)
    folder = executor.folder
    with running(executor if ask == "call" else executor.restart, *["1"][: ask == "call"]) as asked:
        assert isinstance(asked.error(), ExecutorClosedError)
    assert eventually(lambda: process_gone(children[0].pid))
    assert executor._session.guest is None
    assert executor.folder is None
    assert not os.path.exists(folder)


def test_long_request_for_a_child_is_read_in_several_pieces(tmp_path):
    paths = [tmp_path / f"{number:04}{'x' * 100}" for number in range(600)]
    for path in paths:
        path.mkdir()
    with ProcessExecutor(readable_paths=paths) as executor:
        assert executor("1 + 1").output == 2

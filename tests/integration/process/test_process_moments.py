"""What comes from another thread at an awkward moment: it counts wholly, or not at all."""

from __future__ import annotations

import os

import pytest
from background import eventually, running

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorClosedError, ProgramInterruptedError
from smolagents_fork.executors import process_session


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


@pytest.fixture
def executor():
    with ProcessExecutor(additional_functions={"double": lambda number: number * 2}) as made:
        yield made


def test_interrupt_while_a_new_child_starts(executor, monkeypatch):
    spawn = process_session.spawn
    executor._session._drop()

    def interrupted(*arguments):
        monkeypatch.undo()
        executor.interrupt()
        return spawn(*arguments)

    monkeypatch.setattr(process_session, "spawn", interrupted)
    with pytest.raises(ProgramInterruptedError, match="before it began"):
        executor("begun = 1")
    assert executor("double(2)").output == 4


def test_interrupt_just_before_the_run_is_none_of_its_tools(executor, monkeypatch):
    begin = executor._dispatcher.begin_run

    def begin_and_interrupt():
        begin()
        executor.interrupt()

    monkeypatch.setattr(executor._dispatcher, "begin_run", begin_and_interrupt)
    assert executor("double(2)").output == 4


@pytest.mark.parametrize("ask", ["call", "restart"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_cleanup_while_a_new_child_starts_leaves_none(executor, monkeypatch, ask, moment):
    spawn = process_session.spawn
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

    monkeypatch.setattr(process_session, "spawn", closed)
    folder = executor.folder
    with running(executor if ask == "call" else executor.restart, *["1"][: ask == "call"]) as asked:
        assert isinstance(asked.error(), ExecutorClosedError)
    assert eventually(lambda: gone(children[0].pid))
    assert executor._session._child is None
    assert executor.folder is None
    assert not os.path.exists(folder)


def test_child_that_takes_more_words_to_ask_for_than_come_in_one_piece(tmp_path):
    paths = [tmp_path / f"{number:04}{'x' * 100}" for number in range(600)]
    for path in paths:
        path.mkdir()
    with ProcessExecutor(readable_paths=paths) as executor:
        assert executor("1 + 1").output == 2

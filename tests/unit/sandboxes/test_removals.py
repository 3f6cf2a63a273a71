"""Removals at exit: one deadline for all, and none of an engine that does not answer."""

from __future__ import annotations

import threading
import time

import pytest
from background import eventually

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorError, ExecutorStartError
from smolagents_fork.sandboxes import removals
from smolagents_fork.sandboxes.removals import Removals


@pytest.fixture
def pending(monkeypatch):
    """The removals of this test only."""
    made = removals._Pending()
    monkeypatch.setattr(removals, "_pending", made)
    monkeypatch.setattr(removals, "exit_on_sigterm", lambda: None)
    return made


def registered(address: str, names: dict[str, type[Exception] | None]) -> list[str]:
    """Register objects whose removal raises; return the list of those that are tried."""
    tried: list[str] = []
    made = Removals(address)
    for name, error in names.items():

        def remove(deadline: Deadline, name=name, error=error) -> None:
            tried.append(name)
            if error is not None:
                raise error("injected")

        made.register(name, remove)
    return tried


def test_engine_that_does_not_answer_is_asked_once(pending):
    silent = registered("https://silent", dict.fromkeys("abc", EngineUnavailableError))
    other = registered("https://other", dict.fromkeys("de"))
    removals._at_exit()
    assert silent == ["a"]
    assert other == ["d", "e"]
    assert list(pending.known) == ["a", "b", "c"]


def test_refused_removal_is_tried_again_and_keeps_no_other(pending):
    tried = registered("https://one", {"refused": ExecutorError, "gone": None})
    removals._at_exit()
    assert tried == ["refused", "refused", "refused", "gone"]
    assert list(pending.known) == ["refused"]


def test_removals_at_exit_have_one_deadline(pending, monkeypatch):
    monkeypatch.setattr(removals, "_EXIT_SECONDS", 1e-9)
    tried = registered("https://one", dict.fromkeys("abc"))
    removals._at_exit()
    assert tried == []


def test_nothing_starts_while_the_process_exits(pending):
    removals._at_exit()
    with pytest.raises(ExecutorStartError, match="the process is exiting"):
        registered("https://one", {"late": None})


def test_wait_for_a_engine_that_does_not_answer_is_not_a_success(pending):
    registered("https://silent", {"lost": EngineUnavailableError})
    registered("https://other", {"in use": None, "gone": None})
    silent, other = (Removals(f"https://{n}") for n in ("silent", "other"))
    silent.remove("lost", wait=True)
    other.remove("gone", wait=True)
    assert not silent.wait(60.0)
    assert other.wait(60.0)


def test_wait_for_one_removal_does_not_wait_for_another(pending):
    registered("https://one", {"blocked": ExecutorError})
    assert Removals("https://one").wait_for("removed", 60.0)
    assert not Removals("https://one").wait_for("blocked", 0.0)


def test_removals_in_the_background_are_tried_and_their_thread_ends(pending):
    tried = registered("https://one", {"a": None, "b": EngineUnavailableError})
    engine = Removals("https://one")
    engine.remove("a", wait=False)
    engine.remove("b", wait=False)
    assert engine.wait_for("a", 60.0)
    assert not engine.wait(60.0)
    assert removals.wait_until_tried(60.0)
    assert tried == ["a", "b", "b"]
    assert not engine.wait_for("b", 0.0)


def test_exit_waits_for_a_start_in_another_thread(pending):
    engine, begun, exits = Removals("https://one"), threading.Event(), threading.Event()
    removed: list[bool] = []

    def start() -> None:
        with engine.starting("late", lambda _deadline: removed.append(exits.is_set())):
            begun.set()
            while not pending.exiting:
                time.sleep(0.001)
            time.sleep(0.05)
            exits.set()

    thread = threading.Thread(target=start)
    thread.start()
    assert begun.wait(60.0)
    removals._at_exit()
    thread.join()
    assert removed == [True]


def test_each_engine_is_reaped_once_and_an_error_is_of_no_consequence():
    reaped = []

    def reap(number):
        reaped.append(number)
        raise RuntimeError("no engine")

    for number, address in enumerate(["https://reaped", "https://reaped", "https://other reaped"]):
        Removals(address).reap_once(lambda number=number: reap(number))
    assert eventually(lambda: sorted(reaped) == [0, 2])

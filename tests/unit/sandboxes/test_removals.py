"""Removals at exit: one deadline for all, and none of an engine that does not answer."""

from __future__ import annotations

import pytest

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

"""Removals at exit: one deadline for all, and none of a cluster that does not answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorError, ExecutorStartError
from smolagents_fork.sandboxes.kubernetes import pod_removal
from smolagents_fork.sandboxes.kubernetes.pod_removal import Removals


@pytest.fixture
def pending(monkeypatch):
    """The removals of this test only."""
    made = pod_removal._Pending()
    monkeypatch.setattr(pod_removal, "_pending", made)
    monkeypatch.setattr(pod_removal, "exit_on_sigterm", lambda: None)
    return made


def registered(address: str, names: dict[str, type[Exception] | None]) -> list[str]:
    """Register objects whose removal raises; return the list of those that are tried."""
    tried: list[str] = []
    removals = Removals(SimpleNamespace(address=address))
    for name, error in names.items():

        def remove(deadline: Deadline, name=name, error=error) -> None:
            tried.append(name)
            if error is not None:
                raise error("injected")

        removals.register(name, remove)
    return tried


def test_cluster_that_does_not_answer_is_asked_once(pending):
    silent = registered("https://silent", dict.fromkeys("abc", EngineUnavailableError))
    other = registered("https://other", dict.fromkeys("de"))
    pod_removal._at_exit()
    assert silent == ["a"]
    assert other == ["d", "e"]
    assert list(pending.known) == ["a", "b", "c"]


def test_refused_removal_is_tried_again_and_keeps_no_other(pending):
    tried = registered("https://one", {"refused": ExecutorError, "gone": None})
    pod_removal._at_exit()
    assert tried == ["refused", "refused", "refused", "gone"]
    assert list(pending.known) == ["refused"]


def test_removals_at_exit_have_one_deadline(pending, monkeypatch):
    monkeypatch.setattr(pod_removal, "_EXIT_SECONDS", 1e-9)
    tried = registered("https://one", dict.fromkeys("abc"))
    pod_removal._at_exit()
    assert tried == []


def test_nothing_starts_while_the_process_exits(pending):
    pod_removal._at_exit()
    with pytest.raises(ExecutorStartError, match="the process is exiting"):
        registered("https://one", {"late": None})


def test_strange_pods_keep_no_orphan_from_being_removed(monkeypatch):
    ended = {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}
    orphan = {"metadata": {"name": "orphan"}, "status": {"containerStatuses": [{"state": ended}]}}
    pods = [{}, {"metadata": None}, None, {**orphan, "metadata": {}}, {"status": 1}, orphan]
    removed: list[str] = []
    monkeypatch.setattr(pod_removal, "remove_pod", lambda _c, name, _d: removed.append(name))
    client = SimpleNamespace(
        namespace="n",
        core=SimpleNamespace(list_namespaced_pod=None),
        call=lambda *_args, **_keywords: {"items": pods},
    )
    assert pod_removal.reap(client) == removed == ["orphan"]


def test_wait_for_a_cluster_that_does_not_answer_is_not_a_success(pending):
    registered("https://silent", {"lost": EngineUnavailableError})
    registered("https://other", {"in use": None, "gone": None})
    silent, other = (Removals(SimpleNamespace(address=f"https://{n}")) for n in ("silent", "other"))
    silent.remove("lost", wait=True)
    other.remove("gone", wait=True)
    assert not silent.wait(60.0)
    assert other.wait(60.0)

"""Removal of pods that nobody owns any more."""

from __future__ import annotations

from types import SimpleNamespace

from smolagents_fork.sandboxes.kubernetes import pod_removal


def test_strange_pods_keep_no_orphan_from_being_removed(monkeypatch):
    ended = {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}
    orphan = {"metadata": {"name": "orphan"}, "status": {"containerStatuses": [{"state": ended}]}}
    pods = [{}, {"metadata": None}, None, {**orphan, "metadata": {}}, {"status": 1}, orphan]
    removed: list[str] = []
    monkeypatch.setattr(pod_removal, "remove_pod", lambda _c, name, _d: removed.append(name))
    client = SimpleNamespace(list_pods=lambda: pods)
    assert pod_removal.reap(client) == removed == ["orphan"]

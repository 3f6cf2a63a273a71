"""Annotations that anyone may have written cost nobody but their own pod."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace

import pytest

from smolagents_fork.sandboxes.containers.listed_entries import read_entries
from smolagents_fork.sandboxes.kubernetes import pod_inventory
from smolagents_fork.sandboxes.kubernetes.pod_inventory import _entry
from smolagents_fork.sandboxes.kubernetes.pod_labels import PodRecord
from smolagents_fork.system.inventory import ELSEWHERE

TEXTS = ["²", "²:²:²", "m:-1:1", "m:0:1", "m:1", "a\nb:1:1", "\x1b[2J:1:1", "x" * 10**6, 7, [], {}]


def pod(name, **annotations):
    named = {f"smolagents-fork/{key}": value for key, value in annotations.items()}
    return {"metadata": {"name": name, "annotations": named}}


def test_strange_owners_are_skipped_and_named(caplog):
    pods = [pod(f"strange-{number}", owner=text) for number, text in enumerate(TEXTS)]
    with caplog.at_level(logging.WARNING, "smolagents_fork"):
        listed = read_entries("pod", [*pods, pod("good", owner="m:1:1"), pod("free")], _entry)
    assert [(one.name, one.owner.state) for one in listed] == [
        ("good", ELSEWHERE),
        ("free", ELSEWHERE),  # of a warm pool, and nobody has claimed it
    ]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(TEXTS)
    for number, message in enumerate(messages):
        assert message.startswith(f"the pod strange-{number} cannot be read, and is left out: ")
        assert message.isprintable()
        assert len(message) < 500
    assert not any(PodRecord(one).is_orphan for one in pods)


@pytest.mark.parametrize("text", ["²", "9" * 400, "-1", "0", "1e9", "", "٣", 10**13])
def test_strange_dates_are_now(text):
    before = time.time()
    assert before <= PodRecord(pod("a", created=text)).created_at <= time.time()


def test_sandbox_with_a_strange_name_has_that_of_its_pod():
    for text in ("\x1b[2J", "a b", "../x", "", "x" * 64):
        assert PodRecord(pod("a", sandbox=text)).sandbox == "a"
    assert PodRecord(pod("a", sandbox="0f")).sandbox == "0f"


def test_strange_pods_keep_no_orphan_from_being_removed(monkeypatch):
    ended = {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}
    orphan = {"metadata": {"name": "orphan"}, "status": {"containerStatuses": [{"state": ended}]}}
    pods = [{}, {"metadata": None}, None, {**orphan, "metadata": {}}, {"status": 1}, orphan]
    removed: list[str] = []
    monkeypatch.setattr(pod_inventory, "remove_pod", lambda _c, name, _d: removed.append(name))
    client = SimpleNamespace(list_pods=lambda: pods)
    assert pod_inventory.reap(client) == removed == ["orphan"]

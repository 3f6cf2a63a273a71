"""Pods as the API describes them; annotations that anyone may have written cost only their pod."""

from __future__ import annotations

import logging
import os
import time
from types import SimpleNamespace

import pytest

from smolagents_fork.sandboxes import process_owner
from smolagents_fork.sandboxes.containers.listed_entries import read_entries
from smolagents_fork.sandboxes.kubernetes import pod_inventory
from smolagents_fork.sandboxes.kubernetes.pod_inventory import _entry
from smolagents_fork.sandboxes.kubernetes.pod_labels import PodRecord
from smolagents_fork.sandboxes.kubernetes.pod_status import PodState, pod_state
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


def test_orphans_alone_are_removed_and_strange_pods_keep_none(monkeypatch):
    ended = {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}
    orphan = {"metadata": {"name": "orphan"}, "status": {"containerStatuses": [{"state": ended}]}}
    owners = {
        "mine": process_owner.owner_text(),
        "reused": f"{process_owner.this_machine()}:{os.getpid()}:1",
        "elsewhere": f"other-machine:{os.getpid()}:1",
    }
    pods = [{}, {"metadata": None}, None, {**orphan, "metadata": {}}, {"status": 1}, orphan]
    pods += [pod(name, owner=owner) for name, owner in owners.items()]
    removed: list[str] = []
    monkeypatch.setattr(pod_inventory, "remove_pod", lambda _c, name, _d: removed.append(name))
    client = SimpleNamespace(list_pods=lambda: pods)
    assert pod_inventory.reap(client) == removed == ["orphan", "reused"]


def described(state=None, **status):
    containers = [] if state is None else [{"state": state}]
    return {"spec": {"nodeName": "n"}, "status": {"containerStatuses": containers, **status}}


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        ({}, PodState()),
        (
            described({"running": {}}, phase="Running"),
            PodState(running=True, node="n", phase="Running"),
        ),
        (
            described({"waiting": {"reason": "ContainerCreating"}}),
            PodState(waiting="ContainerCreating", node="n"),
        ),
        (
            described({"waiting": {"reason": "ErrImagePull", "message": "no such host"}}),
            PodState(waiting="ErrImagePull: no such host", hopeless=True, node="n"),
        ),
        (
            described({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, phase="Failed"),
            PodState(ended="ended", exit_code=137, out_of_memory=True, node="n", phase="Failed"),
        ),
        (
            described(None, phase="Failed", reason="Evicted", message="disk"),
            PodState(ended="ended (Evicted: disk)", node="n", phase="Failed"),
        ),
        (
            described(None, phase="Failed", reason="DeadlineExceeded"),
            PodState(ended="ended (DeadlineExceeded)", node="n", phase="Failed"),
        ),
        (
            {**described({"running": {}}), "metadata": {"deletionTimestamp": "now"}},
            PodState(ended="ended and is being removed", node="n"),
        ),
    ],
)
def test_states(pod, state):
    assert pod_state(pod) == state
    # As the error of a sandbox that has ended says it.
    assert not state.ended or state.status(()).state == state.ended


def test_unschedulable_pod_has_the_schedulers_words():
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes",
    }
    state = pod_state({"status": {"phase": "Pending", "conditions": [condition]}})
    assert state.waiting == "Unschedulable: 0/1 nodes"
    assert not state.hopeless


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        ({}, ()),
        ({"hostIP": "10.0.0.1"}, ("10.0.0.1",)),
        ({"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
         ("10.0.0.1", "fd00::1")),
    ],
)  # fmt: skip
def test_addresses_of_the_node(status, addresses):
    assert pod_state({"status": status}).node_addresses == addresses

"""States of pods as the API describes them."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes.kubernetes.pod_status import PodState, pod_state


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

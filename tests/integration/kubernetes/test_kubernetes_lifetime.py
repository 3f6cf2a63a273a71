"""Ends of pods: the lease after kill -9, the reaper, the exit of the process, exits and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from background import eventually, host_process

from smolagents_fork.sandboxes import process_owner
from smolagents_fork.sandboxes.kubernetes.api_client import ClusterClient
from smolagents_fork.sandboxes.kubernetes.pod_inventory import reap

PROGRAM = """
import sys, time
from smolagents_fork import DockerExecutor, KubernetesEngine
executor = DockerExecutor(
    engine=KubernetesEngine(), image=sys.argv[1], lease_seconds=15, startup_timeout_seconds=180
)
assert executor("1 + 1").output == 2
print("ready", flush=True)
for _ in range(6000): time.sleep(0.1)
"""


def running(cluster):
    return [
        p for p in cluster.pods.values() if cluster.described(p)["status"]["phase"] == "Running"
    ]


def test_killed_host_leaves_nothing_longer_than_the_lease(cluster, image):
    with host_process(PROGRAM, image) as process:
        assert running(cluster)
        process.kill()
        process.wait()
        assert eventually(lambda: not running(cluster))
    (pod,) = cluster.pods.values()
    assert b"the lease is over" in pod.container.logs(tail=3)
    # What is left is a record of the API, which the next process of this machine removes.
    reap(ClusterClient(None, None))
    assert eventually(lambda: cluster.pods == {})


def test_sigterm_removes_its_pods(cluster, image):
    """As any exit does: SIGTERM makes the process exit."""
    with host_process(PROGRAM, image, stderr=subprocess.PIPE) as process:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        assert process.stderr.read() == ""
    assert cluster.pods == {}


def test_reaper_spares_pods_of_others(cluster, image, make):
    executor = make()
    (mine,) = cluster.pods
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    machine = process_owner.this_machine()
    owners = {
        "dead": f"{machine}:{gone.pid}:1",
        "reused": f"{machine}:{os.getpid()}:1",
        "elsewhere": f"other-machine:{gone.pid}:1",
        "unknown": "",
    }
    template = cluster.pods[mine].manifest
    for name, owner in owners.items():
        annotations = {**template["metadata"]["annotations"], "smolagents-fork/owner": owner}
        metadata = {**template["metadata"], "name": name, "annotations": annotations}
        cluster.add({**template, "metadata": metadata})
    reap(ClusterClient(None, None))
    # The process reaps once by itself, too, which may take the others first.
    assert eventually(lambda: set(cluster.pods) == {mine, "elsewhere", "unknown"})
    assert executor("1").output == 1

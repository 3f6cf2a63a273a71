"""Nothing of ours is left, and nothing of anybody else's is touched."""

from __future__ import annotations

import os

from background import at_once, eventually
from docker_measuring import descriptors, thread_names
from docker_waiting import containers_of, gone

from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.sandboxes import removals
from smolagents_fork.sandboxes.docker.lifetime import orphans
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL, NAME_LABEL, labels
from smolagents_fork.sandboxes.process_owner import this_machine


def test_delete_returns_when_it_is_gone(make, engine):
    executor = make()
    name = executor.container.id
    executor.delete()
    assert name not in [summary["Id"] for summary in engine.api.containers(all=True)]


def test_reaper_removes_dead_owners_and_nobody_elses(image, engine, create, ended):
    labelled = {
        "dead": {LABEL: ended},
        "reused-pid": {LABEL: f"{this_machine()}:{os.getpid()}:1"},
        "alive": {LABEL: labels("test")[LABEL]},
        "elsewhere": {LABEL: ended.replace(this_machine(), "another-machine")},
        # The label of the image is that of the process that built it.
        "foreign": {LABEL: "", "somebody": "else"},
        # As docker commit, or FROM, gives the labels of a container to others.
        "inherited": {LABEL: ended, NAME_LABEL: "another"},
    }
    # Others may run the same test on the same engine.
    names = {case: f"reaped-{case}-{os.getpid()}" for case in labelled}
    for case, name in names.items():
        create(image, ["sleep", "60"], labels={NAME_LABEL: name, **labelled[case]}, name=name)
    orphans.reap(engine)
    # Another process may have been about to remove the same; the engine refuses the second.
    left = {"alive", "elsewhere", "foreign", "inherited"}
    assert eventually(lambda: {case for case in names if not gone(engine, names[case])} == left)


def test_six_executors_leave_the_engine_and_the_process_as_they_were(image, engine):
    networks, volumes = set(), set()

    def used(executor):
        assert executor("1").output == 1
        # What else the engine has may be anybody's, and come and go.
        executor.container.reload()
        networks.update(executor.container.attrs["NetworkSettings"]["Networks"])
        mounts = executor.container.attrs["Mounts"]
        volumes.update(mount["Name"] for mount in mounts if mount["Type"] == "volume")

    def alone():
        with DockerExecutor() as executor:
            used(executor)

    def pooled():
        with DockerExecutor(pool=pool) as executor:
            used(executor)

    alone()
    assert removals.wait_until_tried(120)
    assert eventually(lambda: not thread_names()["smolagents-fork-removal"])
    before = set(containers_of(engine, os.getpid()))
    open_before, threads_before = descriptors(), thread_names()
    at_once(*[alone] * 3)
    with DockerPool(
        min_size=2,
        max_size=3,
        concurrent_starts=2,
        acquire_timeout_seconds=300,
        startup_timeout_seconds=120,
    ) as pool:
        at_once(*[pooled] * 3)
        assert pool.stats().handed_out == 3
    assert removals.wait_until_tried(120)
    assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before)
    assert networks == {"none"}
    assert not volumes & {volume.name for volume in engine.volumes.list()}
    assert eventually(lambda: not thread_names() - threads_before)
    # The engine's client keeps a few connections; what grows with each executor would be six.
    assert eventually(lambda: descriptors() <= open_before + 3)

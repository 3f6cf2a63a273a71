"""Nothing of ours is left, and nothing of anybody else's is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import docker
import pytest
from docker_waiting import eventually

from smolagents_fork.containers import removal
from smolagents_fork.containers.owner import LABEL, labels, this_machine
from smolagents_fork.containers.runtime import DockerProvisioner
from smolagents_fork.errors import ForkError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker_session import KernelSession


def containers_of(engine, pid):
    found = engine.api.containers(all=True, filters={"label": LABEL})
    return [s["Names"][0].lstrip("/") for s in found if f":{pid}:" in s["Labels"][LABEL]]


def test_cleanup_removes_the_container(make, engine):
    executor = make()
    name = executor.container.name
    executor.cleanup()
    assert eventually(lambda: name not in containers_of(engine, os.getpid()), 10)


def test_delete_returns_when_it_is_gone(make, engine):
    executor = make()
    name = executor.container.id
    executor.delete()
    assert name not in [c.id for c in engine.containers.list(all=True)]


def test_with_block(image, engine):
    executor = DockerExecutor()
    name = executor.container.name
    with pytest.raises(RuntimeError, match="inside"), executor:
        raise RuntimeError("inside")
    assert eventually(lambda: name not in containers_of(engine, os.getpid()), 10)


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (DockerProvisioner, "start"),
        (KernelSession, "open"),
        (KernelSession, "_connect"),
        (KernelSession, "_install"),
    ],
)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_exception_in_the_constructor_at_every_stage(
    image, engine, monkeypatch, owner, method, error
):
    before = set(containers_of(engine, os.getpid()))
    original = getattr(owner, method)

    def fails(*args, **keywords):
        original(*args, **keywords)
        raise error("at this stage")

    monkeypatch.setattr(owner, method, fails)
    with pytest.raises(error):
        DockerExecutor()
    assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before, 15)


PROGRAM = """
import sys, time
from smolagents_fork.executors.docker import DockerExecutor
executor = DockerExecutor(lease_seconds=3)
assert executor("1+1").output == 2
print("ready", flush=True)
{rest}
"""


def run_program(rest):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(rest=rest)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_sys_exit(image, engine):
    process = run_program("sys.exit(3)")
    assert process.wait(30) == 3
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 5)


def test_unhandled_exception(image, engine):
    process = run_program("sys.stderr = open('/dev/null', 'w'); raise ValueError")
    assert process.wait(30) == 1
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 5)


def test_sigterm(image, engine):
    process = run_program("time.sleep(60)")
    process.terminate()
    assert process.wait(30) in (-signal.SIGTERM, 128 + signal.SIGTERM)
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 5)


def test_kill_9_within_the_lease(image, engine):
    process = run_program("time.sleep(60)")
    assert containers_of(engine, process.pid)
    process.kill()
    process.wait(30)
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 3 + 12)


def test_kill_9_while_code_runs(image, engine):
    process = run_program("executor('import time; time.sleep(60)')")
    time.sleep(0.5)
    process.kill()
    process.wait(30)
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 3 + 12)


def test_reaper_removes_dead_owners_and_nobody_elses(image, engine):
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait(30)
    own = labels("test")[LABEL]
    cases = {
        "dead": {LABEL: f"{this_machine()}:{dead.pid}:1"},
        "reused-pid": {LABEL: f"{this_machine()}:{os.getpid()}:1"},
        "alive": {LABEL: own.replace(f":{os.getpid()}:", f":{os.getpid()}:")},
        "elsewhere": {LABEL: f"another-machine:{dead.pid}:1"},
        "foreign": {"somebody": "else"},
    }
    made = {
        name: engine.containers.create(image, ["sleep", "60"], labels=value, name=f"reaped-{name}")
        for name, value in cases.items()
    }
    try:
        removal.reap(engine)
        left = {
            name
            for name in cases
            if any(f"/reaped-{name}" in s["Names"] for s in engine.api.containers(all=True))
        }
        assert left == {"alive", "elsewhere", "foreign"}
    finally:
        for container in made.values():
            with contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True)


@pytest.mark.slow
def test_fifty_executors_leave_the_engine_and_the_process_as_they_were(image, engine):
    with DockerExecutor():
        pass
    assert removal.wait_until_removed(15)
    time.sleep(0.5)

    def state():
        networks = {network.name for network in engine.networks.list()}
        volumes = {volume.name for volume in engine.volumes.list()}
        return containers_of(engine, os.getpid()), networks, volumes

    before, descriptors = state(), len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    for batch in range(10):
        made: list[DockerExecutor] = []
        workers = [
            threading.Thread(target=lambda made=made: made.append(DockerExecutor()))
            for _ in range(5)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
        assert len(made) == 5, f"batch {batch}"
        for executor in made:
            assert executor("1").output == 1
            executor.cleanup()
    assert removal.wait_until_removed(30)
    assert eventually(lambda: state() == before, 10)
    assert eventually(lambda: len(os.listdir("/proc/self/fd")) <= descriptors + 3, 5)
    assert eventually(lambda: threading.active_count() <= threads, 5)


def test_forked_child_leaves_the_parents_container_alone(make):
    executor = make()
    pid = os.fork()
    if pid == 0:
        try:
            executor.cleanup()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert executor("1").output == 1


def test_cleanup_of_an_executor_that_never_started():
    with pytest.raises(ForkError):
        DockerExecutor(timeout_seconds=-1)
    bare = DockerExecutor.__new__(DockerExecutor)
    bare.cleanup()
    bare.delete()

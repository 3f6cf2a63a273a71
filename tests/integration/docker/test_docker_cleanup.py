"""Nothing of ours is left, and nothing of anybody else's is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest
from docker.models.containers import Container, ContainerCollection
from docker_measuring import descriptors
from docker_waiting import eventually, gone

from smolagents_fork.containers import removal
from smolagents_fork.containers.owner import LABEL, labels, this_machine
from smolagents_fork.errors import ForkError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker_session import KernelSession
from smolagents_fork.executors.pool import DockerPool


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


@pytest.fixture(scope="module", autouse=True)
def bystanders(image, engine):
    """Containers that are none of ours to remove; every test of this module leaves them alone."""
    own = labels("test")[LABEL]
    made = [
        engine.containers.create(image, ["sleep", "60"], labels=value, name=f"bystander-{name}")
        for name, value in {
            f"foreign-{os.getpid()}": {"somebody": "else"},
            f"elsewhere-{os.getpid()}": {LABEL: "another-machine:1:1"},
            f"alive-{os.getpid()}": {LABEL: own},
        }.items()
    ]
    names = {container.name for container in made}
    yield names
    left = {name for name in names if not gone(engine, name)}
    for container in made:
        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True)
    assert left == names


@pytest.fixture(autouse=True)
def bystanders_stay(bystanders, engine):
    yield
    assert [name for name in bystanders if gone(engine, name)] == []


@pytest.mark.parametrize(
    ("owner", "method", "error"),
    [
        (ContainerCollection, "create", RuntimeError),
        (ContainerCollection, "create", KeyboardInterrupt),
        (Container, "start", SystemExit),
        (KernelSession, "open", RuntimeError),
        (KernelSession, "_connect", KeyboardInterrupt),
        (KernelSession, "_install", RuntimeError),
        (KernelSession, "_install", SystemExit),
    ],
)
def test_exception_in_the_constructor_at_every_stage(
    image, engine, monkeypatch, owner, method, error
):
    before = set(containers_of(engine, os.getpid()))
    during = []
    original = getattr(owner, method)

    def fails(*args, **keywords):
        original(*args, **keywords)
        during.append(set(containers_of(engine, os.getpid())) - before)
        raise error("at this stage")

    monkeypatch.setattr(owner, method, fails)
    with pytest.raises(error):
        DockerExecutor()
    assert len(during[0]) == 1  # there was one to remove
    assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before, 5)


LEASE_SECONDS = 2
PROGRAM = """
import sys, time
from smolagents_fork.executors.docker import DockerExecutor
executor = DockerExecutor(lease_seconds={lease})
assert executor("1+1").output == 2
print("ready", flush=True)
{rest}
"""


def run_program(rest, lease=60):
    # A lease that outlasts the test: what removes the container here is the process itself.
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(rest=rest, lease=lease)],
        stdout=subprocess.PIPE,
        text=True,
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
    assert process.wait(30) == 128 + signal.SIGTERM  # it ended by itself, and was not ended
    process.stdout.close()
    assert eventually(lambda: not containers_of(engine, process.pid), 5)


def test_kill_9_idle_and_while_code_runs_within_the_lease(image, engine):
    idle = run_program("time.sleep(60)", LEASE_SECONDS)
    busy = run_program("executor('import time; time.sleep(60)')", LEASE_SECONDS)
    # The call's code has to be under way, which the container's processes cannot tell.
    time.sleep(0.5)
    for process in (idle, busy):
        assert containers_of(engine, process.pid)
        process.kill()
    killed = time.monotonic()
    for process in (idle, busy):
        process.wait(30)
        process.stdout.close()
        # lease_seconds, and the gateway's and the engine's own time on a busy machine.
        assert eventually(lambda p=process: not containers_of(engine, p.pid), LEASE_SECONDS + 8)
    assert time.monotonic() - killed > LEASE_SECONDS * 0.5  # the lease did it, and nobody else


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


def in_threads(number, work):
    """Run ``work`` in so many threads at once, and pass on what any of them raised."""
    with ThreadPoolExecutor(number) as threads:
        list(threads.map(lambda _: work(), range(number)))


@pytest.mark.slow
def test_fifty_executors_leave_the_engine_and_the_process_as_they_were(image, engine):
    def alone():
        with DockerExecutor() as executor:
            assert executor("1").output == 1

    alone()
    assert removal.wait_until_removed(30)
    assert eventually(lambda: "smolagents-fork-removal" not in thread_names(), 10)

    def state():
        networks = {network.name for network in engine.networks.list()}
        volumes = {volume.name for volume in engine.volumes.list()}
        return containers_of(engine, os.getpid()), networks, volumes

    before, open_before, threads_before = state(), descriptors(), thread_names()
    for _ in range(6):
        in_threads(5, alone)
    with DockerPool(min_size=2, max_size=5, concurrent_starts=2) as pool:

        def pooled():
            with DockerExecutor(pool=pool) as executor:
                assert executor("1").output == 1

        for _ in range(4):
            in_threads(5, pooled)
        assert pool.stats().handed_out == 20
    assert removal.wait_until_removed(60)
    assert eventually(lambda: state() == before, 20)
    assert eventually(lambda: thread_names() == threads_before, 10)
    # The engine's client keeps a few connections; what grows with each executor would be fifty.
    assert eventually(lambda: descriptors() <= open_before + 3, 10)


def thread_names():
    """Names of the threads of this process, sorted."""
    return sorted(thread.name for thread in threading.enumerate())


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

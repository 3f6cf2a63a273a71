"""Ends of every kind leave nothing: signals, failures at every stage, calls that cross."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
from docker_waiting import eventually
from smolagents.utils import AgentError

from smolagents_fork.containers import images, removal, runtime
from smolagents_fork.containers.owner import LABEL
from smolagents_fork.containers.runtime import DockerProvisioner
from smolagents_fork.containers.sandbox import DockerSandbox
from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    SandboxDiedError,
)
from smolagents_fork.executors import docker_connection
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker_session import KernelSession
from smolagents_fork.executors.pool import DockerPool


def containers_of(engine, pid):
    found = engine.api.containers(all=True, filters={"label": LABEL})
    return [s["Names"][0].lstrip("/") for s in found if f":{pid}:" in s["Labels"][LABEL]]


POOL_PROGRAM = """
import sys, time
from smolagents_fork.executors.pool import DockerPool
pool = DockerPool(min_size={size}, max_size=2, lease_seconds=60)
{wait}
print("ready", flush=True)
{rest}
"""


@pytest.mark.parametrize(
    ("rest", "wait"),
    [
        ("time.sleep(60)", "assert pool.wait_until_ready()"),
        ("sys.exit(3)", "assert pool.wait_until_ready()"),
        ("sys.exit(3)", "time.sleep(0.6)"),  # while one starts
    ],
    ids=["SIGTERM", "sys.exit", "sys.exit while starting"],
)
def test_process_with_only_a_pool_leaves_no_container(image, engine, rest, wait):
    code = POOL_PROGRAM.format(size=1, rest=rest, wait=wait)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    if "sleep" in rest:
        process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (128 + signal.SIGTERM if "sleep" in rest else 3)
    assert "Traceback" not in errors
    assert eventually(lambda: not containers_of(engine, process.pid), 3)


def state_of_process():
    threads = {t.name for t in threading.enumerate() if t.name.startswith("smolagents-fork")}
    return threads, len(os.listdir("/proc/self/fd"))


STAGES = [
    (images, "ensure"),
    (runtime, "container_arguments"),
    (DockerProvisioner, "_created"),
    (DockerProvisioner, "start"),
    (DockerSandbox, "open_stream"),
    (docker_connection, "create_kernel"),
    (docker_connection, "Connection"),
    (docker_connection, "install_request"),
    (KernelSession, "_install"),
]


@pytest.mark.parametrize(("owner", "name"), STAGES, ids=[name for _, name in STAGES])
@pytest.mark.parametrize("when", ["before", "after"])
def test_failure_at_every_stage_leaves_no_container_thread_or_descriptor(
    image, engine, monkeypatch, owner, name, when
):
    assert removal.wait_until_removed(30)
    before = set(containers_of(engine, os.getpid()))
    threads, descriptors = state_of_process()
    original = getattr(owner, name)

    def fails(*args, **keywords):
        if when == "after":
            original(*args, **keywords)
        raise RuntimeError("at this stage")

    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(RuntimeError, match="at this stage"):
        DockerExecutor()
    monkeypatch.undo()
    assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before, 15)
    assert eventually(lambda: state_of_process()[0] <= threads, 10)
    import gc

    gc.collect()
    assert eventually(lambda: state_of_process()[1] <= descriptors, 5)


def test_port_taken_leaves_no_container(make, engine):
    first = make(network="bridge")
    first.container.reload()
    port = int(first.container.ports["8888/tcp"][0]["HostPort"])
    before = set(containers_of(engine, os.getpid()))
    with pytest.raises(ExecutorStartError, match="pass port=None"):
        DockerExecutor(network="bridge", port=port)
    assert set(containers_of(engine, os.getpid())) <= before


def test_waiter_keeps_its_place_and_time_when_a_ready_container_had_died(image, engine):
    order = []
    with DockerPool(min_size=1, max_size=1) as pool:
        assert pool.wait_until_ready()
        engine.api.remove_container(pool._ready[0][0].sandbox.name, force=True)
        time.sleep(0.5)
        first_in_line = threading.Event()
        replace = pool._replace

        def replaced(waiter):
            first_in_line.set()
            # Others come while the first is told that what it got is dead.
            assert eventually(lambda: pool.stats().waiting == 2, 10)
            replace(waiter)

        pool._replace = replaced

        def take(number):
            with DockerExecutor(pool=pool):
                order.append(number)

        threads = [threading.Thread(target=take, args=(n,)) for n in range(3)]
        threads[0].start()
        assert first_in_line.wait(20)
        for thread in threads[1:]:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join(120)
    assert order[0] == 0
    assert sorted(order) == [0, 1, 2]


def test_dead_ready_container_does_not_give_the_waiter_its_time_again(image, monkeypatch):
    with DockerPool(min_size=0, max_size=1) as pool:
        monkeypatch.setattr(KernelSession, "is_alive", lambda _self: False)
        started = time.monotonic()
        with pytest.raises(ExecutorStartError, match="acquire_timeout_seconds=5"):
            pool.acquire(timeout=5)
        assert time.monotonic() - started < 15
        assert pool.stats().in_use == 0


def test_file_larger_than_the_work_folder(make):
    executor = make(workdir_size="4m")
    executor.put_file(b"x" * 3_000_000, "fits")
    with pytest.raises(ExecutorError) as caught:
        executor.put_file(b"x" * 3_000_000, "too-large")
    assert "put_file: 3000000 bytes could not be written to /workspace/too-large" in str(
        caught.value
    )
    assert "bytes are free in /workspace" in str(caught.value)
    assert executor("import os; os.listdir('.')").output == ["fits"]
    assert executor("open('more', 'wb').write(b'y' * 500_000)").output == 500_000
    # In place of one that is there, when both have no room together.
    executor.put_file(b"z" * 3_400_000, "fits")
    assert executor("open('fits', 'rb').read(1)").output == b"z"
    with pytest.raises(ExecutorError, match="it is a folder"):
        executor.put_file(b"x", "/workspace")


def test_name_of_a_user_that_is_root_in_the_image(image, engine):
    content = (
        f"FROM {image}\nUSER root\nRUN echo admin:x:0:0::/:/bin/sh >> /etc/passwd\nUSER 1000\n"
    )
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(dockerfile_content=content, user="admin")
    assert "the kernel runs as root" in str(caught.value)
    assert "allow_root=True" in str(caught.value)


def test_root_by_explicit_wish(make):
    executor = make(user="0:0", allow_root=True)
    assert executor("import os; os.getuid()").output == 0
    status = executor("open('/proc/self/status').read()").output
    assert "CapEff:\t0000000000000000" in status


def test_root_file_system_that_can_be_written_is_limited_or_said_not_to_be(image):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with DockerExecutor(read_only=False, disk_size="50m") as executor:
            executor.container.reload()
            limited = executor.container.attrs["HostConfig"].get("StorageOpt")
    told = [str(w.message) for w in caught if "disk_size='50m'" in str(w.message)]
    assert bool(limited) != bool(told)
    if told:
        assert "cannot limit what a container writes" in told[0]


def test_interrupt_that_crosses_the_end_of_a_call_hits_no_later_one(make):
    executor = make(timeout_seconds=30)
    stop = threading.Event()

    def keep_interrupting():
        while not stop.is_set():
            executor.interrupt()
            time.sleep(0.01)

    interrupted = 0
    for _ in range(10):
        stop.clear()
        worker = threading.Thread(target=keep_interrupting)
        worker.start()
        try:
            executor("import time; time.sleep(0.01)")
        except AgentError:
            interrupted += 1
        finally:
            stop.set()
            worker.join(10)
        assert executor("import time; time.sleep(0.05); 'whole'").output == "whole"
    assert interrupted


def test_interrupt_before_the_code_has_begun_is_not_lost(make, monkeypatch):
    executor = make(timeout_seconds=30)
    executor("kept = 1")
    ready = KernelSession._ready

    def slow(self):
        channel = ready(self)
        self.interrupt()
        return channel

    monkeypatch.setattr(KernelSession, "_ready", slow)
    with pytest.raises(AgentError, match="interrupted"):
        executor("import time; time.sleep(20)")
    monkeypatch.undo()
    assert executor("kept").output == 1


def test_restart_during_a_call_waits_for_its_turn(make):
    executor = make(timeout_seconds=30)
    outputs = []
    worker = threading.Thread(
        target=lambda: outputs.append(executor("import time; time.sleep(1); 'whole'").output)
    )
    worker.start()
    time.sleep(0.3)
    first = executor.container.id
    executor.restart()
    worker.join(30)
    assert outputs == ["whole"]
    assert executor("1").output == 1
    assert executor.container.id != first


def test_cleanup_while_another_thread_waits_for_its_turn(make):
    executor = make(timeout_seconds=30)
    errors = []

    def call():
        try:
            executor("import time; time.sleep(20)")
        except ExecutorError as error:
            errors.append(error)

    workers = [threading.Thread(target=call) for _ in range(3)]
    for worker in workers:
        worker.start()
    time.sleep(0.5)
    started = time.monotonic()
    executor.cleanup()
    for worker in workers:
        worker.join(20)
    assert time.monotonic() - started < 10
    assert [type(error) for error in errors] == [ExecutorClosedError] * 3


def test_cleanup_while_a_new_container_starts_leaves_none(make, engine, monkeypatch):
    others = set(removal._known)
    executor = make(timeout_seconds=30)
    with pytest.raises(SandboxDiedError):
        executor(
            "import os, signal; os.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(9)"
        )
    start = DockerProvisioner.start

    def closed_meanwhile(self, spec):
        threading.Thread(target=executor.cleanup).start()
        time.sleep(0.2)
        return start(self, spec)

    monkeypatch.setattr(DockerProvisioner, "start", closed_meanwhile)
    name = executor.container
    with pytest.raises(ExecutorError):
        executor("1")
    monkeypatch.undo()
    assert name is None
    mine = set(removal._known) - others
    assert mine
    assert eventually(lambda: not mine & set(containers_of(engine, os.getpid())), 15)


def test_two_threads_calling_one_executor_take_turns(make):
    executor = make(timeout_seconds=30)
    executor("order = []")
    code = "order.append({n})\nimport time\ntime.sleep(0.05)\norder.append({n})"
    workers = [threading.Thread(target=executor, args=(code.format(n=n),)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    order = executor("order").output
    assert order[::2] == order[1::2]
    assert sorted(order[::2]) == list(range(6))


def test_host_network_is_refused_before_anything_is_made(engine):
    before = set(containers_of(engine, os.getpid()))
    with pytest.raises(ConfigurationError, match="network='host'"):
        DockerExecutor(network="host")
    with pytest.raises(ConfigurationError, match=r"container_run_kwargs\['network_mode'\]='host'"):
        DockerExecutor(container_run_kwargs={"network_mode": "host"})
    assert set(containers_of(engine, os.getpid())) <= before


def test_network_of_another_container_by_explicit_wish(make, image, engine):
    other = engine.containers.run(image, ["sleep", "60"], network_mode="none", detach=True)
    try:
        network = f"container:{other.id}"
        executor = make(network=network, allow_shared_network=True)
        assert executor("21 * 2").output == 42
        executor.container.reload()
        assert executor.container.attrs["HostConfig"]["NetworkMode"] == network
        executor.delete()
    finally:
        other.remove(force=True)

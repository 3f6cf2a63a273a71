"""Ends of every kind leave nothing: signals, failures at every stage, calls that cross."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import threading
import time

import pytest
from background import acting, at_once, eventually, host_process, running
from docker.models.containers import Container, ContainerCollection
from docker_measuring import descriptors, thread_names
from docker_waiting import containers_of, first_print
from smolagents.utils import AgentError
from whole_contract import every

from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    SandboxDiedError,
)
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.executors.jupyter import connection
from smolagents_fork.executors.jupyter.error_text import CodeFailedError
from smolagents_fork.executors.session.session import Session
from smolagents_fork.sandboxes import removals
from smolagents_fork.sandboxes.docker import docker_provisioner
from smolagents_fork.sandboxes.docker.container import DockerSandbox
from smolagents_fork.sandboxes.docker.docker_provisioner import DockerProvisioner

# The lease outlasts the test: what removes the container is the process itself.
PROGRAM = """
import sys, time
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
options = {{"lease_seconds": 600, "startup_timeout_seconds": 120}}
{begin}
print("ready", flush=True)
{end}
"""
POOL = "pool = DockerPool(min_size=1, max_size=2, **options)\n"


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        # Python handles a signal that comes just before a sleep after it, so the sleeps are short.
        (
            f"{POOL}assert pool.wait_until_ready(timeout=120)",
            "for _ in range(6000): time.sleep(0.1)",
        ),
        (f"{POOL}time.sleep(0.6)", "sys.exit(3)"),
        ("executor = DockerExecutor(**options)\nassert executor('1+1').output == 2", "sys.exit(3)"),
    ],
    ids=["SIGTERM", "sys.exit while starting", "sys.exit with an executor"],
)
def test_process_that_ends_leaves_no_container(image, engine, begin, end):
    code = PROGRAM.format(begin=begin, end=end)
    with host_process(code, stderr=subprocess.PIPE) as process:
        if "sleep" in end:
            process.terminate()
        _, errors = process.communicate(timeout=120)
    assert process.returncode == (128 + signal.SIGTERM if "sleep" in end else 3)
    assert "Traceback" not in errors
    assert eventually(lambda: not containers_of(engine, process.pid))


STAGES = [
    (docker_provisioner, "prepare_image"),
    (docker_provisioner, "container_arguments"),
    (ContainerCollection, "create"),
    (Container, "start"),
    (DockerProvisioner, "start"),
    (DockerSandbox, "open_stream"),
    (connection, "create_kernel"),
    (connection, "Connection"),
    (connection, "install_request"),
    (connection.KernelConnection, "_connect"),
    (connection.KernelConnection, "_install"),
]


#: Before a stage is after the one before it, which the first has not.
FAILURES = [("before", *STAGES[0]), *(("after", *stage) for stage in STAGES)]


@pytest.fixture(scope="module")
def known_engine(image):
    """Have the connections that this process keeps from its first removal on."""
    DockerExecutor().delete()


@pytest.mark.parametrize(("when", "owner", "name"), every(3, FAILURES), ids=lambda one: str(one))
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failure_at_every_stage_leaves_no_container_thread_or_descriptor(
    known_engine, engine, monkeypatch, owner, name, when, error
):
    assert removals.wait_until_tried(120)
    before = set(containers_of(engine, os.getpid()))
    threads, open_before = thread_names("smolagents-fork"), descriptors()
    original, during = getattr(owner, name), []

    def fails(*args, **keywords):
        if when == "after":
            original(*args, **keywords)
        during.append(set(containers_of(engine, os.getpid())) - before)
        raise error("at this stage")

    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(error, match="at this stage"):
        DockerExecutor()
    monkeypatch.undo()
    assert len(during[0]) == (STAGES.index((owner, name)) >= 2)  # there was one to remove
    assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before)
    assert eventually(lambda: not thread_names("smolagents-fork") - threads)
    gc.collect()
    assert eventually(lambda: descriptors() <= open_before)


def test_waiter_keeps_its_place_and_time_when_a_ready_container_had_died(image, engine):
    order = []
    with DockerPool(min_size=1, max_size=1, acquire_timeout_seconds=300) as pool:
        assert pool.wait_until_ready(timeout=120)
        session = pool._ready[0][0]
        engine.api.remove_container(session.sandbox.name, force=True)
        # The connection ends a moment later; until then nobody can tell that it is dead.
        assert eventually(lambda: not session.is_alive())
        first_in_line = threading.Event()
        is_alive = pool._is_alive

        def looked(sandbox):
            alive = is_alive(sandbox)
            if not alive:
                first_in_line.set()
                # Others come while the first is told that what it got is dead.
                assert eventually(lambda: pool.stats().waiting == 2)
            return alive

        pool._is_alive = looked

        def take(number):
            with DockerExecutor(pool=pool):
                order.append(number)

        with running(take, 0, stop=pool.close) as first:
            first.until(first_in_line.is_set)
            at_once(lambda: take(1), lambda: take(2))
    assert order[0] == 0
    assert sorted(order) == [0, 1, 2]


def test_dead_ready_container_does_not_give_the_waiter_its_time_again(image, monkeypatch):
    with DockerPool(min_size=0, max_size=1) as pool:
        monkeypatch.setattr(connection.KernelConnection, "is_alive", lambda _self: False)
        with pytest.raises(ExecutorStartError, match="acquire_timeout_seconds=5"):
            pool.acquire(timeout=5)
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
    # The older one stays until the new one is complete, so that both need room.
    with pytest.raises(ExecutorError, match="in /workspace, where the older file stays until then"):
        executor.put_file(b"z" * 3_400_000, "fits")
    assert executor.get_file("fits") == b"x" * 3_000_000
    with pytest.raises(ExecutorError, match="Is a directory"):
        executor.put_file(b"x", "/workspace")
    with pytest.raises(ExecutorError, match=r"/etc/mine .*Read-only file system"):
        executor.put_file(b"x", "/etc/mine")


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


def test_root_file_system_that_can_be_written_is_limited_or_refused(make):
    try:
        executor = make(read_only=False, disk_size="50m")
    except ConfigurationError as error:
        message = str(error)
        assert message.startswith("read_only=False with disk_size='50m': this engine cannot limit")
        assert "pass disk_size=None, with which the code can fill the engine's disk" in message
        executor = make(read_only=False, disk_size=None)
        assert executor("1+1").output == 2
    else:
        executor.container.reload()
        assert executor.container.attrs["HostConfig"]["StorageOpt"] == {"size": "50m"}


@pytest.mark.parametrize(
    ("answer", "discarded", "words"),
    [
        (b'"PidsLimit":256', b'"PidsLimit":0  ', "pids_limit=256: the engine has discarded"),
        (b'"Memory":1073741824', b'"Memory":0         ', "mem_limit=1073741824: the engine has"),
        (b'"MemorySwap":1073741824', b'"MemorySwap":-1        ', "memswap_limit=1073741824: the"),
    ],
    ids=["processes", "memory", "swap"],
)
def test_limit_that_the_engine_discards_is_an_error(make, proxy, answer, discarded, words):
    # What an engine does where the kernel of its machine lacks the control group.
    proxy.rewriting = {answer: discarded}
    with pytest.raises(ConfigurationError) as caught:
        make(memory="1g")
    assert words in str(caught.value)
    assert "to run without the limit" in str(caught.value)
    proxy.rewriting = {}
    removals.wait_until_tried(60)


@pytest.fixture(scope="module")
def interruptible(image):
    """One executor for interrupts at any moment."""
    with DockerExecutor(timeout_seconds=60, interrupt_grace_seconds=60) as executor:
        yield executor


def test_interrupt_that_crosses_the_end_of_a_call_hits_no_later_one(interruptible):
    stop = threading.Event()

    def keep_interrupting():
        while not stop.is_set():
            interruptible.interrupt()
            time.sleep(0.01)

    # The host looks for an interrupt once in a while: runs ever longer meet it before their end,
    # at it and after it.
    interrupted = 0
    for milliseconds in range(20, 200):
        stop.clear()
        with running(keep_interrupting, stop=stop.set):
            try:
                interruptible(f"import time; time.sleep({milliseconds / 1000})")
            except AgentError:
                interrupted += 1
            stop.set()
        assert interruptible("import time; time.sleep(0.05); 'whole'").output == "whole"
        if interrupted == 10:
            break
    assert interrupted


def test_interrupts_do_not_disturb_the_report_of_how_the_code_ended(interruptible):
    # From within, to hit all moments: while the code runs, while its error is reported, afterwards.
    interruptible(
        "import asyncio, os, signal, threading, time\nkernel = os.getpid()\n"
        "def send():\n    for _ in range(200):\n"
        "        os.kill(kernel, signal.SIGINT)\n        time.sleep(0.0005)\n"
        "    done.set()\n"
    )

    def sent():
        with contextlib.suppress(CodeFailedError):
            return interruptible("done.wait(60)").output

    begin = "done = threading.Event()\nthreading.Thread(target=send).start()\n"
    for end in ["1 / 0", "asyncio.run(asyncio.sleep(60))", "await asyncio.sleep(60)"] * 3:
        with pytest.raises(CodeFailedError) as caught:
            interruptible(begin + end)
        assert "Error in callback" not in str(caught.value)
        assert eventually(sent)
    interruptible.send_tools({"double": lambda number: 2 * number})
    assert interruptible("double(os.getpid()) == 2 * kernel").output is True


def test_interrupt_before_the_code_has_begun_is_not_lost(interruptible, monkeypatch):
    interruptible("kept = 1")
    ready = Session._ready

    def slow(self):
        guest = ready(self)
        self.interrupt()
        return guest

    monkeypatch.setattr(Session, "_ready", slow)
    with pytest.raises(AgentError, match="interrupted"):
        interruptible("import time; time.sleep(20)")
    monkeypatch.undo()
    assert interruptible("kept").output == 1


def test_restart_during_a_call_waits_for_its_turn(interruptible):
    first = interruptible.container.id
    begun = first_print(interruptible)
    code = "print('begun', flush=True)\nimport time; time.sleep(1); 'whole'"
    with running(interruptible, code) as call:
        call.until(begun.is_set)
        interruptible.restart()
        assert call.result().output == "whole"
    assert interruptible("1").output == 1
    assert interruptible.container.id != first


def test_cleanup_while_another_thread_waits_for_its_turn(make):
    executor = make(timeout_seconds=60)
    waiting = []

    def call():
        waiting.append(1)
        with pytest.raises(ExecutorClosedError):
            executor("print('begun', flush=True)\nimport time; time.sleep(50)")

    begun = first_print(executor)
    # One of them has its turn then, and the others wait for it or are about to.
    with acting(lambda: begun.is_set() and len(waiting) == 3, executor.cleanup):
        at_once(call, call, call)


def test_cleanup_while_a_new_container_starts_leaves_none(make, engine, monkeypatch):
    others = set(removals._pending.known)
    executor = make(timeout_seconds=30)
    with pytest.raises(SandboxDiedError):
        executor(
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\nimport time\ntime.sleep(9)"
        )
    start = DockerProvisioner.start
    starts = threading.Event()

    def closed_meanwhile(self, spec):
        starts.set()
        assert eventually(lambda: executor.closed)
        return start(self, spec)

    monkeypatch.setattr(DockerProvisioner, "start", closed_meanwhile)
    name = executor.container
    with acting(starts.is_set, executor.cleanup), pytest.raises(ExecutorError):
        executor("1")
    monkeypatch.undo()
    assert name is None
    mine = set(removals._pending.known) - others
    assert mine
    assert eventually(lambda: not mine & set(containers_of(engine, os.getpid())))


def test_network_of_another_container_by_explicit_wish(make, image, create):
    other = create(image, ["sleep", "600"], network_mode="none")
    other.start()
    network = f"container:{other.id}"
    executor = make(network=network, allow_shared_network=True)
    assert executor("21 * 2").output == 42
    executor.container.reload()
    assert executor.container.attrs["HostConfig"]["NetworkMode"] == network
    executor.delete()

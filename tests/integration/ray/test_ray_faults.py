"""A supervisor, node, link, head, driver or placer is lost: errors that say so; nothing is left.

One fault meets four executors on its node: one that is idle, one in a call, one in a tool call and
one that starts. Another one, on another node, keeps its state. Deadlines only
detect hangs. All tests that need a cluster of their own are here, because a cluster takes seconds
of many processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from background import eventually, running
from fault_scene import LEASE, SECONDS, Scene, close_placer, leases, make, supervisors
from ray_nodes.cluster import CPUS, HEAD, RayCluster
from ray_nodes.processes import alive, descendants
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import (
    EngineUnavailableError,
    ExecutorError,
    ExecutorStartError,
    ForkError,
    SandboxDiedError,
)
from smolagents_fork.ray_cluster import supervisors as shared
from smolagents_fork.ray_cluster.placer_process import PlacerProcess


def placer_of(cluster: RayCluster) -> PlacerProcess:
    """Return this process's placer for one cluster; other files have placers for others."""
    return shared._shared[cluster.address].placer


@pytest.fixture
def scene(breakable: RayCluster) -> Iterator[Scene]:
    with contextlib.ExitStack() as stack:
        yield Scene(breakable, stack)


SILENCE = r"the supervisor of node .* was given up: it did not answer for \d+ s"


def kill_supervisor(_cluster: RayCluster, scene: Scene) -> None:
    os.kill(scene.supervisor, signal.SIGKILL)


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (kill_supervisor, "was given up: nothing listens on its port, so its process has ended"),
        pytest.param(
            lambda cluster, scene: cluster.kill_raylet(scene.node),
            "was given up|was ended by SIGKILL",  # by Ray, before its supervisor
            marks=pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1"),
        ),
        (lambda cluster, scene: cluster.cut(scene.node), SILENCE),
    ],
    ids=["killed", "its raylet killed", "its link cut"],
)
def test_supervisor_lost(
    breakable: RayCluster,
    scene: Scene,
    cause: Callable[[RayCluster, Scene], None],
    reason: str,
) -> None:
    scene.begin_start()
    cause(breakable, scene)
    scene.check(reason)
    # Nobody could tell it where the link was cut: it has ended all by itself.
    assert eventually(lambda: not alive(scene.supervisor), SECONDS)


def test_supervisor_frozen(scene: Scene) -> None:
    scene.begin_start()
    os.kill(scene.supervisor, signal.SIGSTOP)
    try:
        scene.check(SILENCE, ended=False)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(scene.supervisor, signal.SIGCONT)
    assert eventually(lambda: not alive(scene.supervisor), SECONDS)
    assert eventually(lambda: not any(map(alive, scene.sandboxes)), SECONDS)


def make_container(cluster: RayCluster, lease_seconds: float) -> DockerExecutor:
    place = RayEngine(
        cluster.address,
        slots_per_node=2,
        cpus_per_slot=0.5,
        memory_per_slot="64m",
        lease_seconds=lease_seconds,
    )
    return DockerExecutor(
        engine=place,
        lease_seconds=LEASE,
        startup_timeout_seconds=SECONDS,
        timeout_seconds=2 * SECONDS,
    )


@pytest.mark.parametrize(
    "make_executor", [make, pytest.param(make_container, marks=pytest.mark.docker)]
)
def test_call_survives_a_cut_of_five_seconds(
    breakable: RayCluster, make_executor: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    if make_executor is make_container:
        request.getfixturevalue("engine")
    before = supervisors(breakable).keys()
    begun = threading.Event()
    with make_executor(breakable, next(leases)) as executor:
        # One more may have prepared an image.
        nodes = {node for pid, node in supervisors(breakable).items() if pid not in before}
        executor.send_tools({"begin": begun.set, "double": lambda number: 2 * number})
        executor("runs = 0")
        code = "import time\nruns += 1\nbegin()\ntime.sleep(8)\ndouble(20 + runs)"
        with running(executor, code) as call:
            call.until(begun.is_set, SECONDS)
            for node in nodes:
                breakable.cut(node)
            time.sleep(5.0)
            for node in nodes:
                breakable.restore(node)
            assert call.result(SECONDS).output == 42
        assert executor("runs").output == 1


#: A driver with an executor that is idle, one in a call, one in a tool call and two that start: in
#: the supervisor of the others, and in one that has to be made.
DRIVER = """
import threading, time
from smolagents_fork import ProcessExecutor, RayEngine

def make(lease={lease}):
    engine = RayEngine(
        {address!r}, sandbox="process", slots_per_node=4, cpus_per_slot=0.25, lease_seconds=lease
    )
    return ProcessExecutor(
        ["time"], engine=engine, startup_timeout_seconds={seconds}, timeout_seconds={seconds}
    )

def run(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()

idle, calling, asking = (make() for _ in range(3))
idle("kept = 1")
begun = threading.Barrier(3)
calling.send_tools({{"begin": lambda: begun.wait() and None}})
asking.send_tools({{"wait": lambda: (begun.wait(), time.sleep({seconds})) and None}})
run(calling, "begin()\\nimport time\\ntime.sleep({seconds})")
run(asking, "wait()")
begun.wait()
run(make)
run(make, {lease} + 1)
print(idle.folder, flush=True)
time.sleep({seconds})
"""


@pytest.mark.parametrize("placer", [False, True], ids=["alone", "with its placer"])
def test_driver_killed(breakable: RayCluster, placer: bool) -> None:
    program = DRIVER.format(address=breakable.address, lease=next(leases), seconds=SECONDS)
    before = supervisors(breakable).keys()
    driver = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with driver:
        assert driver.stdout is not None
        folder = driver.stdout.readline().strip()
        assert os.path.isdir(folder), folder
        found = supervisors(breakable).keys() - before
        processes = set(found) | {child for pid in found for child in descendants(pid)}
        assert len(processes) > len(found)
        others = descendants(driver.pid) if placer else ()
        driver.kill()
        for pid in others:  # which otherwise tells the supervisors
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(alive, processes)), SECONDS)
    assert eventually(lambda: not os.path.exists(folder), SECONDS)
    # Nor is one left that was being made.
    assert eventually(lambda: not supervisors(breakable).keys() - before, SECONDS)


def test_killed_placer_loses_its_sandboxes_and_not_the_host(breakable: RayCluster) -> None:
    folders: list[str] = []
    with make(breakable, LEASE) as executor:
        folders.append(str(executor.folder))
        executor.send_variables({"sent": 21})
        executor.send_tools({"double": lambda number: 2 * number})
        placer = placer_of(breakable)
        placer._process.kill()
        assert eventually(lambda: placer.ended, SECONDS)
        # Its node ends the sandbox, which may answer until then, and whose end may be noticed
        # first.
        with pytest.raises(ExecutorError, match=r"placer process|ended by SIGKILL"):
            call_until_it_fails(executor)
        assert executor("double(sent)").output == 42
        folders.append(str(executor.folder))
    assert eventually(lambda: not any(map(os.path.exists, folders)), SECONDS), folders


def call_until_it_fails(executor: ProcessExecutor) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        executor("1")
        time.sleep(0.1)


def test_busy_cluster_says_what_is_used_and_idle_supervisors_make_room(
    breakable: RayCluster,
) -> None:
    count = len(breakable.nodes)
    keywords = {"sandbox": "process", "lease_seconds": LEASE}
    whole = RayEngine(breakable.address, slots_per_node=1, cpus_per_slot=CPUS, **keywords)
    half = RayEngine(breakable.address, slots_per_node=2, cpus_per_slot=CPUS / 2, **keywords)
    user = whole.cluster()  # the placer, and so its supervisors, outlive the executors
    with contextlib.ExitStack() as stack:
        stack.callback(user.close)
        for _ in range(count):
            executor = ProcessExecutor(engine=whole, startup_timeout_seconds=SECONDS)
            stack.callback(executor.cleanup)
        with pytest.raises(ExecutorStartError) as caught:
            ProcessExecutor(engine=whole, startup_timeout_seconds=3)
        words = rf"became free in \d+ s: {count} of {count} slots in use on {count} nodes"
        assert re.search(words, str(caught.value)), str(caught.value)
        nodes = f"the cluster has {count + 1} nodes, {count * CPUS} CPUs and "
        words = rf"{nodes}[\d.]+ GiB, of which 0 CPUs and [\d.]+ GiB are free"
        assert re.search(words, str(caught.value)), str(caught.value)
        executor.cleanup()
        with ProcessExecutor(engine=whole, startup_timeout_seconds=SECONDS) as again:
            assert again("1 + 1").output == 2
        with ProcessExecutor(engine=half, startup_timeout_seconds=SECONDS) as again:
            assert again("1 + 1").output == 2


@pytest.mark.docker
def test_supervisor_of_containers_killed(breakable: RayCluster, engine: Any) -> None:
    before = supervisors(breakable).keys()
    begun = threading.Event()
    with make_container(breakable, next(leases)) as executor:
        executor.send_tools({"begin": begun.set, "double": lambda number: 2 * number})
        container = executor._sandbox.container_id
        with running(executor, "begin()\nimport time\nwhile True: time.sleep(0.05)") as call:
            call.until(begun.is_set, SECONDS)
            for pid in supervisors(breakable).keys() - before:
                os.kill(pid, signal.SIGKILL)
            died = call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "node" in str(died)
        # In another container, with the tools.
        assert executor("double(4)").output == 8
        other = executor._sandbox.container_id
        assert other != container
        assert eventually(lambda: container not in containers(engine), SECONDS)
    assert eventually(lambda: other not in containers(engine), SECONDS)


def containers(engine: Any) -> set[str]:
    """Return the short ids of the engine's containers."""
    return {one["Id"][:12] for one in engine.api.containers(all=True)}


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.limit(3600)
def test_thousand_sandboxes_while_nodes_are_killed(breakable: RayCluster) -> None:
    lease, errors = next(leases), 0
    memory = psutil.Process().memory_info().rss
    for number in range(1000):
        if number % 100 == 50:
            breakable.complete()
            breakable.kill_node(breakable.nodes[number // 100 % len(breakable.nodes)])
        try:
            with make(breakable, lease) as executor:
                assert executor("1 + 1").output == 2
        except ForkError:
            errors += 1
    assert errors <= 100
    assert psutil.Process().memory_info().rss - memory < 20 << 20
    processes = {child for pid in supervisors(breakable) for child in descendants(pid)}
    assert eventually(lambda: not any(map(alive, processes)), SECONDS)


def placer_takes_little(cluster: RayCluster) -> bool:
    """Return whether the placer takes less than a fifth of a core, or has ended."""
    found = shared._shared.get(cluster.address)
    with contextlib.suppress(psutil.NoSuchProcess):
        return found is None or psutil.Process(found.placer._process.pid).cpu_percent(0.5) < 20
    return True


# The last one: with another head, every node has to start anew.
def test_head_killed(breakable: RayCluster, scene: Scene) -> None:
    # A start needs a supervisor that the head has not made yet.
    scene.begin_start(next(leases), start_seconds=8.0)
    breakable.kill_node(HEAD)
    with pytest.raises(EngineUnavailableError) as caught:
        make(breakable, next(leases))
    assert breakable.address in str(caught.value)
    assert scene.start is not None
    error = scene.start.error(SECONDS)
    assert error is None or isinstance(error, ForkError), repr(error)
    # What runs ends with an error of the fork, or goes on: no hang, and this process lives.
    scene.released.set()
    error = scene.tool_call.error(SECONDS)
    assert error is None or isinstance(error, ForkError), repr(error)
    answered: list[Any] = []
    with contextlib.suppress(ForkError):
        answered.append(scene.neighbour("kept").output)
    assert answered in ([], ["elsewhere"])
    scene.calling.interrupt()
    assert isinstance(scene.call.error(SECONDS), ForkError)
    assert eventually(lambda: placer_takes_little(breakable), SECONDS)
    # It knows the head that was killed; a later test has another one at the same address.
    close_placer(breakable)

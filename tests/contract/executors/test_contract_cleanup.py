"""Resources of an executor, all released by its cleanup."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref

import pytest
from background import eventually
from contract_declarations import behaviour
from contract_kinds import PLAIN, process_gone

from smolagents_fork.errors import ExecutorClosedError


@behaviour("Cleanup", "cleanup() is idempotent, and releases all resources.")
def test_cleanup_leaves_nothing(contract, request):
    executor = contract.make()
    assert executor("1 + 1").output == 2
    left = _resources(contract.kind.name, executor, request)
    if contract.kind.name != "local":  # which has nothing but the object
        assert not left()
    for _ in range(3):
        executor.cleanup()
    assert eventually(left)


@behaviour("Cleanup", "Without cleanup(), garbage collection releases all resources, too.")
def test_dropped_in_a_cycle_as_an_agent_is(contract, request):
    # Not made by the contract, which refers to its executors.
    gc.collect()
    gc.disable()
    try:
        cycle = [contract.kind.cls(list(PLAIN))]
        cycle.append(cycle)
        gc.collect(0)
        if contract.kind.name != "local":
            # Connections are younger than their owners: the collector finds these first.
            cycle[0].restart()
        assert cycle[0]("1 + 1").output == 2
        left, dropped = _resources(contract.kind.name, cycle[0], request), weakref.ref(cycle[0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del cycle
            gc.collect()
        assert dropped() is None
    finally:
        gc.enable()
    assert [str(one.message) for one in caught if "unclosed" in str(one.message)] == []
    assert eventually(left)


@behaviour("Cleanup", "Every method of a closed executor raises an error that says so.")
def test_a_closed_executor_says_so(contract):
    if contract.differs:
        executor = contract.make()
        executor.cleanup()
        assert executor("1 + 1").output == 2
        return
    executor = contract.make()
    executor.cleanup()
    for action in (
        lambda: executor("1 + 1"),
        lambda: executor.send_tools({"one": lambda: 1}),
        lambda: executor.send_variables({"a": 1}),
    ):
        with pytest.raises(ExecutorClosedError, match="make a new executor"):
            action()


@behaviour("Cleanup", "cleanup() from another thread ends a running call with an error.")
def test_cleanup_while_code_runs(contract):
    if contract.differs:
        assert contract.make().cleanup() is None
        return
    executor = contract.make()
    with (
        contract.once_begun(executor, executor.cleanup),
        pytest.raises(ExecutorClosedError),
    ):
        executor("begin()\nimport time\ntime.sleep(50)")


def _resources(name, executor, request):
    """Return a function that tells whether all resources of the executor are released."""
    if name == "docker" and executor.container is None:
        sandbox = executor._sandbox  # of a cluster
        return lambda: not sandbox.status().running
    if name == "docker":
        engine, container = request.getfixturevalue("engine"), executor.container
        # On a cluster only its id is known here.
        found = executor._sandbox.container_id if container is None else container.id
        return lambda: not engine.api.containers(all=True, filters={"id": found})
    if name == "process":
        pid, folder = executor.pid, executor.folder
        return lambda: process_gone(pid) and not os.path.exists(folder)
    if name == "wasm":
        pid = executor.pid
        return lambda: process_gone(pid)
    threads = threading.active_count()
    executor.cleanup()
    return lambda: threading.active_count() <= threads

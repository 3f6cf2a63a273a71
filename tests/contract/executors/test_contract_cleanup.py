"""Resources of an executor, all released by its cleanup."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from typing import Any

import pytest
from background import acting, eventually, process_gone
from begin_tool import Begin
from contract_declarations import behaviour
from contract_engines import start_service
from contract_kinds import PLAIN
from scripted_model import Script
from smolagents import CodeAgent, tool

from smolagents_fork.errors import ExecutorClosedError


@behaviour("Cleanup", "cleanup() is idempotent, and releases all resources.")
def test_cleanup_leaves_nothing(contract, request):
    executor = contract.make()
    assert executor("1 + 1").output == 2
    left = _resources(contract, executor, request)
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
        left, dropped = _resources(contract, cycle[0], request), weakref.ref(cycle[0])
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


@behaviour("Cleanup", "cleanup() in a tool or in on_output ends the call.")
@pytest.mark.parametrize("place", ["tool", "on_output"])
def test_cleanup_in_a_callback(contract, place):
    def close(*_text):
        executor.cleanup()

    executor = contract.make(**({"on_output": close} if place == "on_output" else {}))
    executor.send_tools({"finish": close})
    code = "finish()" if place == "tool" else "print('a', flush=True)"
    if contract.differs:
        assert executor(f"{code}\n1").output == 1
        return
    with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
        executor(f"{code}\nimport time\ntime.sleep(50)")
    with pytest.raises(ExecutorClosedError, match="make a new executor"):
        executor("1")


def _agent(contract, *steps, **more):
    options = {"tools": [], "model": Script(*steps), "verbosity_level": 0, "max_steps": 3, **more}
    return CodeAgent(**options, **contract.agent_options())


@tool
def fails() -> None:
    """Fails."""
    raise LookupError("the tool failed")


def _team(contract):
    """Return a manager and its worker, after a run with errors of both."""
    worker = _agent(
        contract, "1 / 0", "final_answer('helped')", name="worker", description="Helps."
    )
    manager = _agent(
        contract,
        "fails()",
        "final_answer('helped' in worker('go'))",
        managed_agents=[worker],
        tools=[fails],
    )
    assert manager.run("go") is True
    return manager, worker


@behaviour("Cleanup", "An agent's cleanup() ends the sandboxes of its managed agents, too.")
def test_manager_cleans_up_its_managed_agents(contract, request):
    manager, worker = _team(contract)
    left = [_resources(contract, one.python_executor, request) for one in (manager, worker)]
    with manager:
        pass
    assert all(eventually(one) for one in left)


@behaviour(
    "Cleanup", "Sandboxes end with the last reference to their agent, without garbage collection."
)
def test_dropped_agent_ends_its_sandbox(contract, request):
    gc.disable()
    try:
        team = _team(contract)
        left = [_resources(contract, one.python_executor, request) for one in team]
        dropped = [weakref.ref(one) for one in team]
        del team
        if contract.kind.name == "local":  # which has nothing to end
            gc.collect()
        assert [reference() for reference in dropped] == [None, None]
        assert all(eventually(one) for one in left)
    finally:
        gc.enable()


class HalfMade(CodeAgent):
    """An agent whose constructor fails when its sandbox has started."""

    resources: Any = None

    def __init__(self, contract, request):
        super().__init__(tools=[], model=Script(), verbosity_level=0, **contract.agent_options())
        HalfMade.resources = staticmethod(_resources(contract, self.python_executor, request))
        raise RuntimeError("half-way")


@behaviour("Cleanup", "An agent whose constructor fails leaves no sandbox.")
def test_half_made_agent_leaves_no_sandbox(contract, request):
    gc.disable()
    try:
        with pytest.raises(RuntimeError, match="half-way") as caught:
            HalfMade(contract, request)
        del caught
        assert eventually(HalfMade.resources)
    finally:
        gc.enable()


@behaviour(
    "Interruption", "Closing the stream of a run interrupts its code; the agent can still be used."
)
def test_stream_is_closed_while_code_runs(contract):
    agent = contract.keep(
        _agent(
            contract,
            "kept = 1\nbegin()\nimport time\nwhile True: time.sleep(0.01)",
            "final_answer(kept)",
        )
    )
    begin = Begin(threading.Event())
    agent.tools["begin"] = begin
    stream = agent.run("wait", stream=True)

    def close() -> None:
        with pytest.raises(ValueError, match="generator already executing"):
            next(stream)
        stream.close()

    with acting(begin.begun.is_set, close):
        assert [type(element).__name__ for element in stream] == ["ToolCall"]
    assert "interrupted" in str(agent.memory.steps[-1].error)
    assert agent.run("go on", reset=False) == 1


def _resources(contract, executor, request):
    """Return a function that tells whether all resources of the executor are released."""
    name = contract.kind.name
    if contract.kind.column == "hosted":
        sandboxes, hosted = start_service().sandboxes, executor.sandbox_name
        return lambda: hosted not in sandboxes
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

"""Right and wrong uses of the installed package: a type checker refuses the lines marked "wrong".

Nothing here runs.
"""

from __future__ import annotations

from typing import Any

import smolagents
import smolagents_fork
from smolagents import CodeAgent, PythonExecutor, RemotePythonExecutor
from smolagents.agents import MultiStepAgent

from smolagents_fork import (
    AgentSandbox,
    DockerEngine,
    DockerExecutor,
    DockerPool,
    KubernetesEngine,
    LocalPythonExecutor,
    ProcessExecutor,
    RayEngine,
    WasmExecutor,
    WasmPool,
    fork_revision,
)


class NotAnExecutor:
    """A class that has none of an executor's methods."""


class OwnExecutor(DockerExecutor):
    """An executor of a user's own."""


def make_agents(model: Any, process: ProcessExecutor) -> list[MultiStepAgent]:
    """Give agents their executors in every way."""
    CodeAgent(tools=[], model=model, executor_class=NotAnExecutor)  # wrong
    CodeAgent(tools=[], model=model, executor_class="docker")  # wrong
    CodeAgent(tools=[], model=model, executor_class=NotAnExecutor())  # wrong
    CodeAgent(tools=[], model=model, executor=NotAnExecutor())  # wrong
    CodeAgent(tools=[], model=model, executor="process")  # wrong
    CodeAgent(tools=[], model=model, executor_type=ProcessExecutor)  # wrong
    CodeAgent(tools=[], model=model, executor_kwargs=["memory"])  # wrong
    agents: list[MultiStepAgent] = [
        CodeAgent(tools=[], model=model, executor_class=kind)
        for kind in (DockerExecutor, ProcessExecutor, WasmExecutor, OwnExecutor)
    ]
    with CodeAgent([], model=model, executor_type="process", executor_kwargs={"memory": "1g"}) as agent:
        agent.run("Count.", max_steps=3)
    agents += [
        CodeAgent([], model=model, executor=process, max_steps=4, name="worker", description="Works."),
        CodeAgent([], model=model, executor=None, executor_type=None, executor_class=None),
        CodeAgent([], model=model, managed_agents=agents, additional_authorized_imports=["numpy"]),
    ]
    return agents


def make_executors() -> list[PythonExecutor | RemotePythonExecutor]:
    """Make executors of every kind."""
    smolagents_fork.DockerExecuter()  # wrong
    DockerExecutor(tmeout=3)  # wrong
    DockerExecutor(memory=1.5)  # wrong
    DockerExecutor(network=True)  # wrong
    DockerExecutor(max_output_bytes=5)  # wrong
    DockerExecutor(on_death="repeat")  # wrong
    DockerExecutor(pool=WasmPool())  # wrong
    DockerExecutor(engine="ray")  # wrong
    DockerExecutor("numpy", timeout_seconds="3")  # wrong
    DockerExecutor.setup(rebuil=True)  # wrong
    smolagents.DockerExecutor(tmeout=3)  # wrong
    ProcessExecutor(tmeout=3)  # wrong
    ProcessExecutor(memory=1.5)  # wrong
    ProcessExecutor(max_threads="3")  # wrong
    ProcessExecutor(network=True)  # wrong
    ProcessExecutor(engine=DockerEngine())  # wrong
    WasmExecutor(tmeout=3)  # wrong
    WasmExecutor(memory=1.5)  # wrong
    WasmExecutor(pool=DockerPool())  # wrong
    WasmExecutor(requirements=["numpy"])  # wrong
    WasmExecutor.setup(cach_dir="/tmp")  # wrong
    LocalPythonExecutor([], tmeout=3)  # wrong
    LocalPythonExecutor([], timeout_seconds="3")  # wrong
    smolagents.LocalPythonExecutor([], tmeout=3)  # wrong
    with ProcessExecutor(["numpy"], memory="1g", timeout_seconds=None) as process:
        content: bytes = process.get_file("out.csv")
        process.put_file(content, "in.csv")
    return [
        DockerExecutor(memory="1g", cpus=0.5, network="bridge", files={"a.csv": b"1,2"}),
        DockerExecutor(["numpy"], None, True, pool=DockerPool(max_size=3), tenant="a"),
        DockerExecutor(engine=KubernetesEngine(namespace="agents"), memory=512 << 20),
        DockerExecutor(engine=RayEngine(tenant="a"), environment={"A": "b", "C": 1}),
        WasmExecutor(["numpy"], pool=WasmPool(), memory=None),
        LocalPythonExecutor(["numpy"], timeout_seconds=3, files={}),
    ]


async def make_executors_without_blocking() -> list[PythonExecutor | RemotePythonExecutor]:
    """Make executors on an event loop."""
    await DockerExecutor.acreate(tmeout=3)  # wrong
    await DockerExecutor.acreate(pool="x")  # wrong
    await WasmExecutor.acreate(memory=1.5)  # wrong
    return [
        await DockerExecutor.acreate(["numpy"], pool=DockerPool(), timeout_seconds=3),
        await WasmExecutor.acreate(["numpy"], pool=WasmPool(), memory="64m"),
    ]


def make_pools_and_sandboxes() -> str:
    """Make pools, engines and sandboxes for whole agents."""
    DockerPool(max_sizes=3)  # wrong
    DockerPool(memory=1.5)  # wrong
    WasmPool(max_sizes=3)  # wrong
    WasmPool(memory=1.5)  # wrong
    AgentSandbox(tmeout=3)  # wrong
    AgentSandbox(memory=1.5)  # wrong
    DockerEngine(host=3)  # wrong
    KubernetesEngine(namespac="agents")  # wrong
    RayEngine(sandbox="pod")  # wrong
    pool = DockerPool(2, 8, memory="1g", additional_imports=["numpy"])
    with pool, AgentSandbox(memory="1g", network="bridge", secrets={"TOKEN": "x"}) as sandbox:
        sandbox.put_file(b"1", "a.txt")
    return f"{smolagents.__version__} {fork_revision}"

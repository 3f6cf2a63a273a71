"""Agents whose code runs in a container: by name, by class, from a pool, saved and read back."""

from __future__ import annotations

import inspect
import os

import pytest
import smolagents.remote_executors
from background import eventually
from docker_waiting import gone
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork import DockerExecutor, DockerPool

# User, host name and network interfaces, as the program sees them.
WHERE = (
    "import os, socket\nwhere = [os.getuid(), socket.gethostname(), os.listdir('/sys/class/net')]"
)

# What differs from upstream's signature, and why: a fixed port and one image name are what keeps
# two of upstream's from running side by side; imports and logger may be left out.
OTHER_DEFAULTS = {
    "additional_imports": (),
    "logger": None,
    "port": None,
    "image_name": None,
}


@pytest.mark.parametrize(
    "chosen",
    [
        {"executor_type": "docker"},
        {"executor_class": DockerExecutor, "executor_kwargs": {"host": "127.0.0.1"}},
    ],
    ids=["type", "class"],
)
def test_agent_runs_in_a_container_of_its_own(image, engine, chosen):
    agent = CodeAgent(
        tools=[],
        model=Script(f"{WHERE}\nkept = where", "final_answer([kept, given * 2])"),
        verbosity_level=0,
        **chosen,
    )
    with agent:
        executor = agent.python_executor
        assert type(executor) is DockerExecutor
        name = executor.container.name
        (uid, hostname, interfaces), doubled = agent.run("go", additional_args={"given": 4})
    assert (uid, interfaces, doubled) == (1000, ["lo"], 8)
    assert hostname != os.uname().nodename
    assert eventually(lambda: gone(engine, name))


@pytest.mark.parametrize(
    "chosen", [{"executor_type": "docker"}, {"executor_class": DockerExecutor}]
)
def test_agent_takes_its_container_from_a_pool(pool, chosen):
    assert pool.wait_until_ready(timeout=120)
    before = pool.stats().handed_out
    with CodeAgent(
        tools=[],
        model=Script(f"{WHERE}\nfinal_answer(where[0])"),
        executor_kwargs={"pool": pool},
        verbosity_level=0,
        **chosen,
    ) as agent:
        assert agent.run("go") == 1000
        assert pool.stats().in_use == 1
        assert pool.stats().handed_out == before + 1
    assert pool.stats().in_use == 0


@pytest.fixture(scope="module")
def pool(image):
    with DockerPool(
        min_size=1, max_size=2, acquire_timeout_seconds=400, startup_timeout_seconds=180
    ) as made:
        yield made


def test_upstreams_keywords_in_upstreams_order_with_its_defaults():
    theirs = inspect.signature(smolagents.remote_executors.DockerExecutor.__init__).parameters
    ours = inspect.signature(DockerExecutor.__init__).parameters
    assert list(theirs) == list(ours)[: len(theirs)]
    assert len(theirs) >= 10
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind, name
        if name != "self":
            assert ours[name].default == OTHER_DEFAULTS.get(name, parameter.default), name

"""Arguments of RayEngine: all are checked before anything starts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.executors.registry import available_names
from smolagents_fork.sandboxes.engine_protocol import Engine


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"slots_per_node": 0}, "slots_per_node=0: give a whole number from 1 to 1000"),
        ({"slots_per_node": True}, "slots_per_node=True: give a whole number from 1 to 1000"),
        ({"sandbox": "vm"}, "sandbox='vm': give one of 'docker', 'process'"),
        ({"transport": "udp"}, "transport='udp': give one of 'auto', 'direct', 'ray'"),
        ({"address": ""}, "address='': give text such as '10.0.0.1:6379', or None"),
        ({"lease_seconds": 1.0}, "lease_seconds=1.0: give 5 or more"),
        ({"cpus_per_slot": -1}, "cpus_per_slot=-1: give a number of cores, 0 or more, or None"),
        ({"memory_per_slot": "much"}, "memory_per_slot='much': give bytes as a number"),
        ({"tenant": None}, "tenant=None: give a short text"),
    ],
)
def test_wrong_argument_is_refused(arguments: dict[str, Any], words: str):
    with pytest.raises(ConfigurationError) as caught:
        RayEngine(**arguments)
    assert words in str(caught.value)


def test_engine_is_a_value():
    assert isinstance(RayEngine(), Engine)
    assert RayEngine("a:1") == RayEngine("a:1") != RayEngine("b:1")
    assert len({RayEngine("a:1"), RayEngine("a:1")}) == 1


def test_engine_is_available_by_name():
    assert "ray" in available_names()


def test_host_never_imports_ray():
    program = (
        "import sys; from smolagents_fork import RayEngine; RayEngine('a:1')\n"
        "import smolagents_fork.ray_cluster.cluster_client\n"
        "print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_no_address_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(EngineUnavailableError, match="or set RAY_ADDRESS"):
        ProcessExecutor(engine=RayEngine(sandbox="process"))


def test_engine_of_other_sandboxes_is_refused():
    with pytest.raises(ConfigurationError, match="use DockerExecutor"):
        ProcessExecutor(engine=RayEngine("127.0.0.1:1"))
    with pytest.raises(ConfigurationError, match="runs no containers: use ProcessExecutor"):
        DockerExecutor(engine=RayEngine("127.0.0.1:1", sandbox="process"))
    with pytest.raises(ConfigurationError, match="runs no confined processes"):
        ProcessExecutor(engine="ray")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["volumes", "host", "port"])
def test_options_of_this_machine_are_refused(name: str):
    value = {"volumes": ["/a:/b"], "host": "0.0.0.0", "port": 8888}[name]
    with pytest.raises(ConfigurationError, match=f"{name}="):
        DockerExecutor(engine=RayEngine("127.0.0.1:1"), **{name: value})

"""Engine of an executor: the argument, the pool's, the name's, and options that it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors import registry
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.executors.docker.options import DockerOptions, chosen_engine, engine_for
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine


class Connected(Exception):
    """The engine was asked to connect."""


@dataclass(frozen=True)
class RefusingEngine:
    """An engine far away, which says so when it is connected to."""

    slots: int = 1
    transport: str = "auto"
    name = "refusing"

    @property
    def refused_options(self) -> dict[str, str]:
        return {"volumes": "paths of this machine are not there; pass files= instead"}

    def network_remedy(self, options: Any, owner: str) -> str:
        return ""

    def connect(self, options: Any, *, note: Any = None) -> Any:
        raise Connected(self)


@pytest.fixture
def by_name(monkeypatch):
    monkeypatch.setitem(registry.ENGINES, "far", f"{__name__}:RefusingEngine")
    return registry.built_in("far")


@pytest.mark.parametrize("kind", [DockerExecutor, DockerPool])
def test_option_that_makes_no_sense_is_refused_before_anything_starts(kind):
    with pytest.raises(ConfigurationError, match=r"volumes=.*/data.* with RefusingEngine\(.*"):
        kind(engine=RefusingEngine(), volumes=["/data:/data:ro"])


def test_executor_and_setup_connect_to_their_engine():
    with pytest.raises(Connected):
        DockerExecutor(engine=RefusingEngine())
    with pytest.raises(Connected):
        DockerExecutor.setup(engine=RefusingEngine())


def test_engine_is_docker_unless_one_is_given():
    assert engine_for(None, DockerOptions()) == DockerEngine()
    assert engine_for(RefusingEngine(), DockerOptions()) == RefusingEngine()


def test_pool_decides_the_engine():
    class Pool:
        engine = RefusingEngine(2)

    assert chosen_engine(None, Pool(), DockerOptions()) == RefusingEngine(2)
    assert chosen_engine(RefusingEngine(2), Pool(), DockerOptions()) is Pool.engine
    with pytest.raises(ConfigurationError, match="is decided by the pool, which has Refusing"):
        chosen_engine(RefusingEngine(3), Pool(), DockerOptions())


def test_name_of_an_engine_is_an_executor_there(by_name):
    assert by_name.supports_managed_agents
    with pytest.raises(Connected) as caught:
        by_name([], None, slots=7, transport="direct", timeout_seconds=5.0)
    assert caught.value.args == (RefusingEngine(7, "direct"),)
    assert "far" in registry.available_names()


def test_name_with_an_engine_of_another_kind_is_refused(by_name):
    with pytest.raises(ConfigurationError, match="pass a RefusingEngine"):
        by_name([], None, engine=DockerEngine())
    with pytest.raises(ConfigurationError, match="slots: the engine comes from engine="):
        by_name([], None, engine=RefusingEngine(), slots=2)

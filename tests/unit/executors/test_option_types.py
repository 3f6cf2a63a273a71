"""One option has one type, and the same errors, on every executor that has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from smolagents_fork import (
    AgentSandbox,
    DockerExecutor,
    DockerPool,
    LocalPythonExecutor,
    ProcessExecutor,
    RayEngine,
    WasmExecutor,
    WasmPool,
)
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors import registry


def by_name(name: str, **more: Any) -> Callable[..., Any]:
    """Return the call that ``executor_type=name`` makes."""

    def make(**keywords: Any) -> Any:
        factory = registry.built_in(name)
        assert factory is not None
        return factory([], None, **more, **keywords)

    return make


#: Every way to make a sandbox, and the sizes that it takes.
CONTAINER = ("memory", "workdir_size", "tmp_size", "disk_size")
MAKERS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "DockerExecutor": (DockerExecutor, CONTAINER),
    "DockerPool": (DockerPool, CONTAINER),
    "AgentSandbox": (AgentSandbox, CONTAINER),
    "ProcessExecutor": (ProcessExecutor, ("memory", "file_size")),
    "WasmExecutor": (WasmExecutor, ("memory",)),
    "WasmPool": (WasmPool, ("memory",)),
    "RayEngine": (RayEngine, ("memory_per_slot",)),
    "kubernetes": (by_name("kubernetes"), CONTAINER[:3]),
    "ray": (by_name("ray", address="127.0.0.1:1"), CONTAINER[:3]),
    "ray, processes": (by_name("ray", address="127.0.0.1:1", sandbox="process"), ("memory",)),
}
SIZES = [(maker, name) for maker, (_, names) in MAKERS.items() for name in names]


def refusal(maker: str, monkeypatch: pytest.MonkeyPatch, **keywords: Any) -> str:
    # Found before any engine is asked.
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(ConfigurationError) as caught:
        MAKERS[maker][0](**keywords)
    return str(caught.value)


@pytest.mark.parametrize(("maker", "name"), SIZES)
@pytest.mark.parametrize("size", [512, 1 << 19, "512", " 64 ", "1.5"])
def test_number_without_a_unit_that_is_too_small_for_bytes(maker, name, size, monkeypatch):
    bare = str(size).strip()
    words = (
        f"{name}={size!r}: the unit seems to be missing; pass text such as '{bare}m' for "
        f"mebibytes, or '{bare}b' if bytes are meant"
    )
    or_none = "" if name in ("workdir_size", "tmp_size") else ", or None for no limit"
    assert refusal(maker, monkeypatch, **{name: size}) == words + or_none


@pytest.mark.parametrize(("maker", "name"), SIZES)
@pytest.mark.parametrize("size", [1.5, 0.5, 2e9, True, float("nan"), b"1g", 0, -1, "much"])
def test_size_of_the_wrong_type_or_form(maker, name, size, monkeypatch):
    words = (
        f"{name}={size!r}: pass text with a unit, such as '512m' or '1.5g', or a whole number of "
        "bytes"
    )
    or_none = "" if name in ("workdir_size", "tmp_size") else ", or None for no limit"
    assert refusal(maker, monkeypatch, **{name: size}) == words + or_none


CONTAINERS = ["DockerExecutor", "DockerPool", "AgentSandbox", "ray"]


@pytest.mark.parametrize("maker", CONTAINERS)
@pytest.mark.parametrize("network", [True, False, None, "", 1])
def test_network_of_a_container_is_text(maker, network, monkeypatch):
    assert refusal(maker, monkeypatch, network=network) == (
        f"network={network!r}: pass 'none', 'bridge' or the name of a network"
    )


@pytest.mark.parametrize("maker", ["WasmExecutor", "WasmPool"])
@pytest.mark.parametrize("network", [True, False, "bridge", "host", None])
def test_wasm_has_no_network(maker, network, monkeypatch):
    assert refusal(maker, monkeypatch, network=network) == (
        f"network={network!r}: pass 'none', WebAssembly has no sockets; use executor_type='docker' "
        "with network='bridge'"
    )


@pytest.mark.parametrize("maker", ["ProcessExecutor", "ray, processes"])
@pytest.mark.parametrize("network", ["bridge", "container:x", None, True, False, 1, 0, ""])
def test_process_has_no_network_or_the_hosts(maker, network, monkeypatch):
    assert refusal(maker, monkeypatch, network=network) == (
        f"network={network!r}: pass 'none' or 'host', the network of this machine; "
        "executor_type='docker' has networks of its own"
    )


TIMES = {
    "DockerExecutor": DockerExecutor,
    "DockerPool": DockerPool,
    "AgentSandbox": AgentSandbox,
    "LocalPythonExecutor": lambda **keywords: LocalPythonExecutor([], **keywords),
    "ProcessExecutor": ProcessExecutor,
    "WasmExecutor": WasmExecutor,
    "WasmPool": WasmPool,
}


@pytest.mark.parametrize("maker", TIMES)
@pytest.mark.parametrize("value", ["3", True, b"3", [3]])
def test_seconds_are_numbers(maker, value, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    words = f"timeout_seconds={value!r}: pass a number of seconds above 0, or None for no limit"
    with pytest.raises(ConfigurationError, match=f"^{re.escape(words)}$"):
        TIMES[maker](timeout_seconds=value)

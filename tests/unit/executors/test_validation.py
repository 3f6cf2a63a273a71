"""Each parameter of each executor refuses what is of the wrong kind, in its own name."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from signatures import parameters_of

from smolagents_fork import (
    DockerEngine,
    DockerExecutor,
    DockerPool,
    ProcessExecutor,
    WasmExecutor,
    WasmPool,
)
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.local import LocalPythonExecutor

SECONDS = ["3", 0, -1, float("nan"), float("inf"), 1e12, True, [1]]
NEEDED_SECONDS = [None, *SECONDS]
FLAG = ["no", "none", "false", 0, 1, None]
COUNT = [0, -1, 1.5, "5", True, None]
OPTIONAL_COUNT = COUNT[:-1]
SIZE = ["lots", "", 0, -1, True, [], 1.5, 1.5e9, 512, "512", 1 << 19]
NAMES = ["numpy", 5, [5], [""], {"numpy": 1}]
MAPPING = [5, "a", ["a"]]
FUNCTION = ["print", 5]
LOGGER = [5, "log", logging.getLogger("stdlib"), logging.LoggerAdapter(logging.getLogger())]
TENANT = [None, 5, "a\n", "a" * 201]
FILES = [*MAPPING, {5: b""}, {"../x": b""}, {"x": 5}, {"x": "no such file"}]
FUNCTIONS = [*MAPPING, {"a": 5}]

SHARED: dict[str, list[Any]] = {
    "additional_authorized_imports": NAMES,
    "timeout_seconds": SECONDS,
    "max_print_outputs_length": OPTIONAL_COUNT,
    "additional_functions": FUNCTIONS,
    "logger": LOGGER,
    "interrupt_grace_seconds": NEEDED_SECONDS,
    "startup_timeout_seconds": NEEDED_SECONDS,
    "tool_timeout_seconds": SECONDS,
    "max_value_bytes": COUNT,
    "max_tool_calls": COUNT,
    "tools_in_calling_thread": FLAG[:-1],
    "on_output": FUNCTION,
    "before_run": FUNCTION,
    "before_tool": FUNCTION,
    "audit": [5, b"", "", ["audit"]],
    "audit_required": FLAG,
    "figures_dir": [5, b"", "", ["figures"]],
    "tool_placement": [*MAPPING, {"tool": "elsewhere"}],
    "memory": SIZE,
    "files": FILES,
}
LISTED = {
    "allowed_hosts": ["api.github.com", 5, [], [5], ["a b"], ["http://a.example"]],
    "secrets": [{"A": "text"}, ["A"], {"A B": None}],
    "max_connections": COUNT,
    "max_network_bytes": OPTIONAL_COUNT,
}
LOCAL = {
    **SHARED,
    "max_operations": OPTIONAL_COUNT,
    "max_while_iterations": OPTIONAL_COUNT,
    "max_recursion_depth": OPTIONAL_COUNT,
    "max_items": OPTIONAL_COUNT,
    "max_text_length": OPTIONAL_COUNT,
    "max_integer_bits": OPTIONAL_COUNT,
}
PROCESS = {
    "engine": ["docker", 5, DockerEngine],
    **SHARED,
    **LISTED,
    "cpu_seconds": SECONDS,
    "file_size": SIZE,
    "open_files": [*COUNT, 31],
    "network": [None, "", "no", 5, "bridge"],
    "allow_missing": [5, "gravity", ["gravity"], [5]],
    "allow_unconfined": FLAG,
    "max_threads": COUNT,
    # Of which the first letter is the root of all files.
    "readable_paths": ["/etc", Path("/etc"), 5, [5], [""]],
}
WASM = {
    **SHARED,
    "memory": [*SIZE, "8m", "5g"],
    "network": [None, "", 5, True, False, "host", "bridge"],
    "setup_timeout_seconds": NEEDED_SECONDS,
    "deno": [5, ""],
    "pyodide_dir": [5, ""],
    "packages_dir": [5, ""],
    "cache_dir": [5, ""],
    "pool": [5, WasmPool, DockerPool],
    "tenant": TENANT,
}
DOCKER = {
    **SHARED,
    **LISTED,
    "additional_imports": NAMES,
    "allow_pickle": FLAG,
    "allow_root": FLAG,
    "allow_shared_network": FLAG,
    "read_only": FLAG,
    "build_new_image": FLAG,
    "host": [None, "", "nowhere", 5],
    "port": [0, 65_536, "80", True],
    "image_name": [5],
    "image": [5],
    "base_image": [5],
    "dockerfile_content": [5],
    "runtime": [5, ""],
    "container_run_kwargs": MAPPING,
    "build_timeout_seconds": NEEDED_SECONDS,
    "lease_seconds": NEEDED_SECONDS,
    "on_death": ["stop", None, []],
    "network": [None, "", 5, True, False],
    "transport": ["tcp", None],
    "cpus": ["1", 0, -1, True],
    "pids_limit": [*OPTIONAL_COUNT, 3.0],
    "workdir": ["relative", None, "/", "/tmp", "/tmp/"],
    "workdir_size": [None, *SIZE],
    "tmp_size": [None, *SIZE],
    "disk_size": SIZE,
    "user": [0, 1000, None, "", "root", "0:0"],
    "environment": [*MAPPING, {"A": None}, {"A=": "1"}, {5: "1"}],
    "volumes": [5, "x", ["/data"], ["/data:/data:zz"], {"/data": "/data"}, ["/data:data"]],
    "requirements": NAMES,
    "ca_bundle": [5],
    "pool": [5, DockerPool],
    "tenant": TENANT,
    "engine": ["docker", 5, DockerEngine],
}
POOL = {
    "min_size": [-1, "1", 1.5, None, True],
    "max_size": COUNT,
    "idle_seconds": NEEDED_SECONDS,
    "acquire_timeout_seconds": NEEDED_SECONDS,
    "concurrent_starts": COUNT,
    "additional_imports": NAMES,
    "max_per_tenant": OPTIONAL_COUNT,
    "on_demand": FUNCTION,
    "engine": ["docker", 5, DockerEngine],
}


EXECUTORS = (DockerExecutor, DockerPool, ProcessExecutor, WasmExecutor, WasmPool)


def each(cls: type, table: dict[str, list[Any]]) -> list[Any]:
    """One parameter a row; one that has no wrong value here is an error of this file."""
    names = sorted(parameters_of(cls))
    return [pytest.param(cls, name, table[name], id=f"{cls.__name__}-{name}") for name in names]


@pytest.mark.parametrize(
    ("cls", "name", "values"),
    [
        *each(LocalPythonExecutor, LOCAL),
        *each(ProcessExecutor, PROCESS),
        *each(WasmExecutor, WASM),
        *each(DockerExecutor, DOCKER),
        *each(DockerPool, {**DOCKER, **POOL}),
        *each(WasmPool, {**WASM, **POOL}),
    ],
)
def test_wrong_kind_or_value(cls, name, values, monkeypatch):
    # Found before any engine is asked.
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    given = {"additional_authorized_imports": []} if cls is LocalPythonExecutor else {}
    for value in values:
        with pytest.raises(ConfigurationError) as caught:
            cls(**{**given, name: value})
        assert str(caught.value).startswith((name, "container_run_kwargs")), (value, caught.value)


@pytest.mark.parametrize("cls", [DockerPool, WasmPool])
def test_pool_that_could_hold_nothing(cls):
    with pytest.raises(ConfigurationError, match=r"min_size=9 is more than max_size=8"):
        cls(min_size=9)
    assert not [t for t in threading.enumerate() if t.name == "smolagents-fork-pool"]


@pytest.mark.parametrize("cls", EXECUTORS)
@pytest.mark.parametrize("name", ["max_operations", "max_recursion_depth", "max_while_iterations"])
def test_limits_of_the_local_interpreter_are_refused_by_name(cls, name):
    with pytest.raises(ConfigurationError) as caught:
        cls(**{name: 20})
    assert str(caught.value) == (
        f"{cls.__name__} has no parameter {name!r}; LocalPythonExecutor has it; elsewhere "
        "timeout_seconds= limits code"
    )


@pytest.mark.parametrize("cls", [LocalPythonExecutor, *EXECUTORS])
def test_parameter_there_is_not(cls):
    given = {"additional_authorized_imports": []} if cls is LocalPythonExecutor else {}
    pool = cls in (DockerPool, WasmPool)
    misspelt = "max_szie" if pool else "tiemout_seconds"
    right = "max_size" if pool else "timeout_seconds"
    with pytest.raises(ConfigurationError) as caught:
        cls(**given, **{misspelt: 1})
    words = f"{cls.__name__} has no parameter {misspelt!r}; did you mean {right!r}?"
    assert str(caught.value) == words
    with pytest.raises(ConfigurationError) as caught:
        cls(**given, zzz=1)
    known = parameters_of(cls)
    assert str(caught.value) == (
        f"{cls.__name__} has no parameter 'zzz'; known are: {', '.join(sorted(known))}"
    )


def test_setup_takes_what_decides_about_the_image(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(
        ConfigurationError, match=r"DockerExecutor.setup has no parameter 'rebuidl'; .*'rebuild'\?"
    ):
        DockerExecutor.setup(rebuidl=True)

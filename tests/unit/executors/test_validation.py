"""Arguments of executors: wrong values, types, and keywords that there are not."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
)
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors import registry
from smolagents_fork.executors.docker.agent_sandbox import AgentArguments
from smolagents_fork.executors.docker.arguments import DockerArguments
from smolagents_fork.executors.docker.docker_pool import DockerPoolArguments
from smolagents_fork.executors.process.process_options import ProcessArguments
from smolagents_fork.executors.wasm.wasm_executor import WasmArguments
from smolagents_fork.executors.wasm.wasm_pool import WasmPoolArguments
from smolagents_fork.options.option import words_of
from smolagents_fork.options.unknown_names import suggest_options

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
    "readable_paths": ["/etc", Path("/etc"), 5, [5], [""], ["/etc", "/no/such/path"]],
}
WASM = {
    **SHARED,
    "memory": [*SIZE, "8m", "5g"],
    "network": [None, "", 5, True, False, "host", "bridge"],
    "setup_timeout_seconds": NEEDED_SECONDS,
    "deno": [5, ""],
    "pyodide_dir": [5, ""],
    "packages_dir": [5, "", "/no/such/folder"],
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


def parameters_of(cls: type) -> list[str]:
    """List the keyword parameters of the constructor of ``cls``, as editors see them."""
    found = inspect.signature(cls).parameters.values()
    return [parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD]


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no engine: what is wrong is found before one is asked."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")


def maker_of(cls: type) -> Callable[..., Any]:
    return functools.partial(cls, []) if cls is LocalPythonExecutor else cls


def refusal(make: Callable[..., Any], **keywords: Any) -> str:
    """Return the message with which a call is refused."""
    with pytest.raises(ConfigurationError) as caught:
        make(**keywords)
    return str(caught.value)


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
def test_wrong_kind_or_value(cls, name, values):
    # The local executor needs its imports, which may be what is wrong.
    given = {"additional_authorized_imports": []} if cls is LocalPythonExecutor else {}
    for value in values:
        message = refusal(cls, **{**given, name: value})
        assert message.startswith((name, "container_run_kwargs")), (value, message)


def test_paths_of_nodes_are_not_looked_for_here():
    options = ProcessArguments(
        readable_paths=["/no/such/path"], engine=RayEngine("head:1", sandbox="process")
    )
    assert options.readable == ("/no/such/path",)


@pytest.mark.parametrize("cls", [DockerPool, WasmPool])
def test_pool_that_could_hold_nothing(cls):
    with pytest.raises(ConfigurationError, match=r"min_size=9 is more than max_size=8"):
        cls(min_size=9)
    assert not [t for t in threading.enumerate() if t.name == "smolagents-fork-pool"]


@pytest.mark.parametrize("cls", EXECUTORS)
@pytest.mark.parametrize("name", ["max_operations", "max_recursion_depth", "max_while_iterations"])
def test_limits_of_the_local_interpreter_are_refused_by_name(cls, name):
    assert refusal(cls, **{name: 20}) == (
        f"{cls.__name__} has no parameter {name!r}; LocalPythonExecutor has it; elsewhere "
        "timeout_seconds= limits code"
    )


@pytest.mark.parametrize("cls", [LocalPythonExecutor, *EXECUTORS])
def test_parameter_there_is_not(cls):
    pool = cls in (DockerPool, WasmPool)
    misspelt = "max_szie" if pool else "tiemout_seconds"
    right = "max_size" if pool else "timeout_seconds"
    message = refusal(maker_of(cls), **{misspelt: 1})
    assert message == f"{cls.__name__} has no parameter {misspelt!r}; did you mean {right!r}?"
    known = ", ".join(sorted(parameters_of(cls)))
    message = refusal(maker_of(cls), zzz=1)
    assert message == f"{cls.__name__} has no parameter 'zzz'; known are: {known}"


def test_setup_takes_what_decides_about_the_image():
    message = refusal(DockerExecutor.setup, rebuidl=True)
    assert message.startswith("DockerExecutor.setup has no parameter 'rebuidl'; ")
    assert message.endswith("'rebuild'?")


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
    "LocalPythonExecutor": (maker_of(LocalPythonExecutor), ()),
}
SIZES = [(maker, name) for maker, (_, names) in MAKERS.items() for name in names]


WITHOUT_A_UNIT = (
    "the unit seems to be missing; pass text such as '{0}m' for mebibytes, or '{0}b' if bytes are "
    "meant"
)
WRONG_SIZE = "pass text with a unit, such as '512m' or '1.5g', or a whole number of bytes"


@pytest.mark.parametrize(("maker", "name"), SIZES)
@pytest.mark.parametrize(
    ("size", "words"),
    [
        *((size, WITHOUT_A_UNIT) for size in (512, 1 << 19, "512", " 64 ", "1.5")),
        *((size, WRONG_SIZE) for size in (1.5, 0.5, 2e9, True, float("nan"))),
        *((size, WRONG_SIZE) for size in (b"1g", 0, -1, "much")),
    ],
)
def test_size_of_the_wrong_type_or_form(maker, name, size, words):
    or_none = "" if name in ("workdir_size", "tmp_size") else ", or None for no limit"
    expected = f"{name}={size!r}: {words.format(str(size).strip())}{or_none}"
    assert refusal(MAKERS[maker][0], **{name: size}) == expected


CONTAINER_NETWORK = "'none', 'bridge' or the name of a network"
WASM_NETWORK = (
    "'none', WebAssembly has no sockets; use executor_type='docker' with network='bridge'"
)
PROCESS_NETWORK = (
    "'none' or 'host', the network of this machine; executor_type='docker' has networks of its own"
)


@pytest.mark.parametrize(
    ("maker", "words", "networks"),
    [
        *(
            (maker, CONTAINER_NETWORK, [True, False, None, "", 1])
            for maker in ("DockerExecutor", "DockerPool", "AgentSandbox", "ray")
        ),
        *(
            (maker, WASM_NETWORK, [True, False, "bridge", "host", None])
            for maker in ("WasmExecutor", "WasmPool")
        ),
        *(
            (maker, PROCESS_NETWORK, ["bridge", "container:x", None, True, False, 1, 0, ""])
            for maker in ("ProcessExecutor", "ray, processes")
        ),
    ],
)
def test_network_that_the_sandbox_cannot_have(maker, words, networks):
    for network in networks:
        message = refusal(MAKERS[maker][0], network=network)
        assert message == f"network={network!r}: pass {words}"


@pytest.mark.parametrize(
    "maker", [maker for maker in MAKERS if maker[0].isupper() and maker != "RayEngine"]
)
@pytest.mark.parametrize("value", ["3", True, b"3", [3]])
def test_seconds_are_numbers(maker, value):
    assert refusal(MAKERS[maker][0], timeout_seconds=value) == (
        f"timeout_seconds={value!r}: pass a number of seconds above 0, or None for no limit"
    )


KNOWN = {cls: set(parameters_of(cls)) for cls in (AgentSandbox, LocalPythonExecutor, *EXECUTORS)}
WORDS = words_of(
    *(AgentArguments, DockerArguments, DockerPoolArguments),
    *(ProcessArguments, WasmArguments, WasmPoolArguments),
)
WAIVERS = sorted(
    name
    for name in {*set().union(*KNOWN.values()), *parameters_of(KubernetesEngine), "allow_no_token"}
    if name.startswith("allow_") or name in ("read_only", "container_run_kwargs")
)


def test_waivers_are_all_there():
    assert WAIVERS == [
        "allow_missing",
        "allow_network",
        "allow_no_token",
        "allow_pickle",
        "allow_root",
        "allow_shared_network",
        "allow_unconfined",
        "container_run_kwargs",
        "read_only",
    ]


def test_no_word_of_others_means_a_waiver():
    for names in WORDS.values():
        assert not {*names} & {*WAIVERS}


@pytest.mark.parametrize("name", WAIVERS)
def test_waiver_is_suggested_for_its_own_name_only(name):
    everything = set().union(*KNOWN.values())
    known = {*everything, name}
    swapped = name[:-2] + name[-1] + name[-2]
    for misspelt in (name[:-1], name + "s", name.replace("_", ""), swapped):
        if misspelt not in known:
            assert suggest_options(misspelt, known, WORDS) == [name]
    subject = name.removeprefix("allow_")
    similar = [
        f"{prefix}{word}"
        for prefix in ("", "allow_", "allow_all_", "allow_any_", "enable_", "no_", "use_", "with_")
        for word in (subject, f"{subject}_access", f"host_{subject}", f"my_{subject}")
    ]
    for word in similar:
        suggested = suggest_options(word, known, WORDS)
        assert word in known or not {*suggested} & {*WAIVERS}, (word, suggested)


NETWORK = [cls for cls in KNOWN if cls is not LocalPythonExecutor]


@pytest.mark.parametrize("cls", NETWORK)
@pytest.mark.parametrize(
    "word",
    ["allow_network", "allow_internet", "allow_internet_access", "block_network",
     "enable_network", "internet", "internet_access", "network_access", "network_disabled",
     "network_enabled", "network_mode", "no_network", "shared_network",
     "allow_networking", "with_network", "use_network", "disable_network"],
)  # fmt: skip
def test_words_for_the_network_mean_network(cls, word):
    message = refusal(cls, **{word: True})
    assert message == f"{cls.__name__} has no parameter {word!r}; did you mean 'network'?"


@pytest.mark.parametrize(
    ("cls", "word", "meant"),
    [
        (DockerExecutor, "cpu", "'cpus'"),
        (ProcessExecutor, "cpu", "'cpu_seconds'"),
        (DockerExecutor, "env", "'environment'"),
        (AgentSandbox, "envs", "'secrets'"),
        (DockerExecutor, "pip_packages", "'additional_imports' or 'requirements' or "
            "'additional_authorized_imports'"),
        (ProcessExecutor, "packages", "'additional_authorized_imports'"),
        (WasmExecutor, "requirements", "'additional_authorized_imports'"),
        (WasmPool, "packages", "'additional_imports'"),
        (DockerPool, "additional_authorized_imports", "'additional_imports'"),
        (ProcessExecutor, "additional_imports", "'additional_authorized_imports'"),
        (DockerExecutor, "cpu_seconds", "'timeout_seconds'"),
        (ProcessExecutor, "cpus", "'cpu_seconds'"),
        (ProcessExecutor, "volumes", "'files'"),
        (DockerExecutor, "mounts", "'volumes' or 'files'"),
        (LocalPythonExecutor, "timeout", "'timeout_seconds'"),
        (DockerExecutor, "timeout", "'timeout_seconds'"),
        (DockerExecutor, "mem_limit", "'memory'"),
        (DockerPool, "size", "'min_size' or 'max_size'"),
        (WasmExecutor, "timeout_ms", "'timeout_seconds'"),
        (ProcessExecutor, "mem_limit", "'memory'"),
        (WasmPool, "memory_mb", "'memory'"),
        (AgentSandbox, "working_dir", "'workdir'"),
        (ProcessExecutor, "pids_limit", "'max_threads'"),
        (DockerExecutor, "max_threads", "'pids_limit'"),
        (ProcessExecutor, "disk_size", "'file_size'"),
        (DockerExecutor, "readonly", "'read_only'"),
        (ProcessExecutor, "on_stdout", "'on_output'"),
    ],
)  # fmt: skip
def test_words_of_others_name_the_option(cls, word, meant):
    message = refusal(maker_of(cls), **{word: 1})
    assert message == f"{cls.__name__} has no parameter {word!r}; did you mean {meant}?"


POOLED = {DockerExecutor: "DockerPool", WasmExecutor: "WasmPool"}


@pytest.mark.parametrize("cls", POOLED)
@pytest.mark.parametrize(
    "arguments",
    [
        {"tenant": 5},
        {"tenant": "a\n"},
        {"timeout_seconds": -1},
        {"tmeout": 3},
        {"logger": 5},
        {"additional_authorized_imports": 5},
        *({"pool": pool} for pool in ("x", 5, False, object)),
    ],
)
def test_error_of_acreate_is_the_constructors(cls: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as of_constructor:  # noqa: PT011 - compared below
        cls(**arguments)
    with pytest.raises(type(of_constructor.value)) as of_acreate:
        asyncio.run(cls.acreate(**arguments))
    message = str(of_constructor.value)
    assert str(of_acreate.value) == message
    if "pool" in arguments:
        assert message == f"pool={arguments['pool']!r}: pass a {POOLED[cls]}, or None"

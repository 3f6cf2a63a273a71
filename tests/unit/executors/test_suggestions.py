"""Options that are suggested for keywords that there are not."""

from __future__ import annotations

import pytest
from signatures import parameters_of

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker.agent_sandbox import AgentArguments, AgentSandbox
from smolagents_fork.executors.docker.arguments import DockerArguments
from smolagents_fork.executors.docker.docker_pool import DockerPool, DockerPoolArguments
from smolagents_fork.executors.docker.executor import DockerExecutor
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.executors.process.process_options import ProcessArguments
from smolagents_fork.executors.wasm import WasmExecutor, WasmPool
from smolagents_fork.executors.wasm.wasm_executor import WasmArguments
from smolagents_fork.executors.wasm.wasm_pool import WasmPoolArguments
from smolagents_fork.options.option import words_of
from smolagents_fork.options.unknown_names import suggest_options
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine

CLASSES = (
    *(AgentSandbox, DockerExecutor, DockerPool, LocalPythonExecutor),
    *(ProcessExecutor, WasmExecutor, WasmPool),
)
KNOWN = {cls: set(parameters_of(cls)) for cls in CLASSES}
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
    with pytest.raises(ConfigurationError) as caught:
        cls(**{word: True})
    assert str(caught.value) == (
        f"{cls.__name__} has no parameter {word!r}; did you mean 'network'?"
    )


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
    arguments = {"additional_authorized_imports": []} if cls is LocalPythonExecutor else {}
    with pytest.raises(ConfigurationError) as caught:
        cls(**arguments, **{word: 1})
    words = f"{cls.__name__} has no parameter {word!r}; did you mean {meant}?"
    assert str(caught.value) == words

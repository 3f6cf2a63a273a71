"""Options of the hosted executors: the names and types of all others, and upstream's."""

from __future__ import annotations

import sys

import pytest

from smolagents_fork.errors import ConfigurationError, ExecutorStartError
from smolagents_fork.executors.hosted import BlaxelExecutor, E2BExecutor, ModalExecutor
from smolagents_fork.executors.hosted.blaxel_executor import megabytes_of


@pytest.mark.parametrize(
    ("memory", "megabytes"),
    [("4g", 4096), ("512m", 512), (4096, 4096), (2 << 30, 2048), ("1b", 1), ("1.5g", 1536)],
)
def test_memory_is_text_or_upstreams_megabytes(memory, megabytes):
    assert megabytes_of("memory", memory) == megabytes


@pytest.mark.parametrize("memory", [1.5, True, "much", 0, -1, None])
def test_memory_of_the_wrong_type(memory):
    with pytest.raises(ConfigurationError) as caught:
        BlaxelExecutor([], None, memory=memory)
    assert str(caught.value) == (
        f"memory={memory!r}: pass text with a unit, such as '512m' or '1.5g', or a whole number of "
        "bytes"
    )


@pytest.mark.parametrize("cls", [BlaxelExecutor, ModalExecutor])
@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tmeout_seconds", "timeout_seconds"),
        ("timeout", "timeout_seconds"),
        ("start_timeout", "startup_timeout_seconds"),
        ("on_stdout", "on_output"),
    ],
)
def test_unknown_option_is_refused_before_the_service_is_asked(cls, word, meant):
    with pytest.raises(ConfigurationError) as caught:
        cls([], None, **{word: 1})
    words = f"{cls.__name__} has no parameter {word!r}; did you mean {meant!r}?"
    assert str(caught.value) == words


@pytest.mark.parametrize("executor", [E2BExecutor, ModalExecutor, BlaxelExecutor])
@pytest.mark.parametrize("option", ["allowed_hosts", "secrets"])
def test_options_of_other_executors_are_refused_by_name(executor, option):
    told = f"has no parameter '{option}'; ProcessExecutor and DockerExecutor have it"
    with pytest.raises(ConfigurationError, match=told):
        executor([], None, **{option: None})


@pytest.mark.parametrize("executor", [E2BExecutor, ModalExecutor, BlaxelExecutor])
def test_missing_sdk_is_an_error_with_the_extra(executor, monkeypatch):
    for name in (executor.extra, "e2b_code_interpreter"):
        monkeypatch.setitem(sys.modules, name, None)
    words = rf"needs the package \w.*, which is not installed: pip install '.*\[{executor.extra}\]'"
    with pytest.raises(ExecutorStartError, match=words):
        executor([], None)

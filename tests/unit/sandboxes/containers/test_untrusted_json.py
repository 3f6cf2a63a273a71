"""JSON of a sandbox: hostile bytes end in ``ProtocolError``, wherever the host reads them."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ExecutorError, ProtocolError
from smolagents_fork.sandboxes.containers.cgroup_usage import cgroup_usage
from smolagents_fork.sandboxes.containers.container_files import list_files
from smolagents_fork.sandboxes.containers.network_probe import check_isolation
from smolagents_fork.sandboxes.containers.untrusted_json import (
    checked_row,
    checked_texts,
    read_json,
)
from smolagents_fork.sandboxes.kubernetes.streams.channel_socket import ExecStatus
from smolagents_fork.sandboxes.resource_limits import Limits

#: Bytes that are not what any reader asks for.
HOSTILE = {
    "nothing": b"",
    "text": b"<html>",
    "no unicode": b'["\xff"]',
    "nested": b"[" * 200_000,
    "nested and closed": b"[" * 200_000 + b"]" * 200_000,
    "digits": b"[" + b"9" * 5000 + b"]",
    "mapping": b"{}",
    "number": b"3",
    "infinity": b"[Infinity, 1e999, NaN]",
    "too large": b"[18446744073709551616, 1.0, 1]",
    "booleans": b"[true, true, true]",
    "rows": b'[["a"], ["b", 1, 2]]',
    "sizes as text": b'[["a", "1"]]',
}


def answering(output: bytes, code: int = 0):
    """A function that runs programs, all with one answer."""

    def run(argv, *, stdin=(), timeout, max_bytes):
        return code, output, b"message"

    return run


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_protocol_errors(data):
    with pytest.raises(ProtocolError, match="the sandbox sent"):
        cgroup_usage(answering(data), Limits())
    with pytest.raises(ProtocolError, match="the sandbox sent"):
        check_isolation(answering(data), (), "1", "Allow it")
    with pytest.raises(ProtocolError, match="the sandbox sent"):
        list_files(answering(data), "/workspace")
    assert ExecStatus(data).exit_code is None


@pytest.mark.parametrize("count", [b"9" * 5000, b"1e999", b"null", b"[]"])
def test_hostile_exit_code_is_none(count):
    cause = b'{"message": ' + count + b"}"
    text = b'{"reason": "NonZeroExitCode", "details": {"causes": [' + cause + b"]}}"
    assert ExecStatus(text).exit_code is None


def test_failed_program_is_quoted():
    with pytest.raises(ExecutorError, match="resource use cannot be read: message"):
        cgroup_usage(answering(b"", 1), Limits())


def test_expected_answers():
    stats = cgroup_usage(answering(b"[1, 2.5, 3]"), Limits(memory="1g"))
    assert (stats.memory_bytes, stats.memory_limit_bytes, stats.cpu_seconds, stats.pids) == (
        1,
        1 << 30,
        2.5,
        3,
    )
    (one,) = list_files(answering(b'[["/workspace/a", 3]]'), "/workspace")
    assert (one.path, one.size) == ("/workspace/a", 3)
    check_isolation(answering(b"[]"), (), "1", "Allow it")


def test_message_names_subject_and_value():
    with pytest.raises(ProtocolError, match=r"sent the figures as b'\[', which is not JSON: Exp"):
        read_json(b"[", "the figures")
    with pytest.raises(ProtocolError, match=r'sent the figures with .* values: \["a"\]'):
        checked_row(["a"], ((int,),), "the figures")
    with pytest.raises(ProtocolError, match=r"sent the names with .* values: \[1\]"):
        checked_texts([1], "the names")

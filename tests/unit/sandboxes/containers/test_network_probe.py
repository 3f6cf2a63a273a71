"""Answers of the probe of a sandbox's network, also those that are not its own."""

from __future__ import annotations

import socket

import pytest

from smolagents_fork.errors import ExecutorStartError, ProtocolError
from smolagents_fork.sandboxes.containers.network_probe import check_isolation
from smolagents_fork.sandboxes.containers.untrusted_json import read_json

#: Bytes that are not a list of addresses.
HOSTILE = {
    "nothing": b"",
    "text": b"<html>",
    "no unicode": b'["\xff"]',
    "nested": b"[" * 20_000,
    "nested and closed": b"[" * 20_000 + b"]" * 20_000,
    "digits": b"[" + b"9" * 5000 + b"]",
    "mapping": b"{}",
    "number": b"3",
    "infinity": b"[Infinity, 1e999, NaN]",
    "booleans": b"[true, true, true]",
    "rows": b'[["a"], ["b", 1, 2]]',
}


class Program:
    """Stream of a program that has written something and ended."""

    def __init__(self, output: bytes, error: str = "") -> None:
        self._pieces = [output] if output else []
        self._error = error
        self._ends = socket.socketpair()

    def recv(self, _size: int) -> bytes:
        if not self._pieces and self._error:
            raise ConnectionResetError(self._error)
        return self._pieces.pop() if self._pieces else b""

    def fileno(self) -> int:
        return self._ends[0].fileno()

    def close(self) -> None:
        for end in self._ends:
            end.close()


def check(output: bytes, error: str = "") -> None:
    check_isolation(lambda _argv, _seconds: Program(output, error), (), "pod 1", "Allow it")


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_protocol_errors(data):
    with pytest.raises(ProtocolError, match="the sandbox sent"):
        check(data)


@pytest.mark.parametrize(
    ("output", "error", "reason"),
    [(b"", "no python3", "no python3"), (b"[]" + b" " * 70_000, "", "more than 65536 bytes")],
)
def test_sandbox_whose_probe_fails_is_refused(output, error, reason):
    with pytest.raises(ExecutorStartError, match=f"the probe of its network failed.*{reason}"):
        check(output, error)


def test_message_names_subject_and_value():
    with pytest.raises(ProtocolError, match=r"sent the names as b'\[', which is not JSON: Exp"):
        read_json(b"[", "the names")
    with pytest.raises(ProtocolError, match=r"the addresses that it reaches as b'\[1\]'"):
        check(b"[1]")

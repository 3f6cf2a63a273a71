"""The record of an executor: where its lines go."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from smolagents_fork.control.audit_log import AuditLog
from smolagents_fork.errors import AuditError


def test_relative_path_stays_where_the_executor_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.chdir(first)
    log = AuditLog("Executor", "audit.jsonl", required=True)
    log.write("run", "begin", {})
    monkeypatch.chdir(second)
    log.write("run", "end", {})
    lines = (first / "audit.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["phase"] for line in lines] == ["begin", "end"]
    assert list(second.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_named_pipe_without_a_reader_is_an_error(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(AuditError, match=r"cannot be written \(OSError: No such device or address"):
        AuditLog("Executor", path, required=True)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        log = AuditLog("Executor", path, required=True)
        log.write("run", "begin", {"code": "1"})
        assert json.loads(os.read(reader, 10_000))["code"] == "1"
    finally:
        os.close(reader)


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit("gone"), KeyError("absent")])
def test_function_that_raises_anything_refuses(error: BaseException):
    def record(_: object) -> None:
        raise error

    with pytest.raises(AuditError) as caught:
        AuditLog("Executor", record, required=True).write("run", "begin", {})
    assert str(caught.value) == (
        f"audit: the line about a run could not be written ({type(error).__name__}: {error}), and "
        "nothing runs without a record. Mend what audit= writes to"
    )
    AuditLog("Executor", record, required=False).write("run", "begin", {})


def test_ctrl_c_while_a_line_is_written_is_the_users():
    def record(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AuditLog("Executor", record, required=True).write("run", "begin", {})


def test_path_with_a_null_character_is_an_error():
    with pytest.raises(AuditError, match=r"cannot be written \(ValueError: embedded null byte\)"):
        AuditLog("Executor", "a\0b", required=True)

"""The record of an executor: where its lines go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smolagents_fork.control.audit_log import AuditLog


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

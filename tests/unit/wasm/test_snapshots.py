"""Snapshots in the cache: made once, and removed when nobody uses them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.wasm import snapshots
from smolagents_fork.wasm.snapshots import snapshot_file


@pytest.fixture
def deno(tmp_path: Path) -> Path:
    path = tmp_path / "deno"
    path.write_bytes(b"program")
    return path


def made(monkeypatch) -> list[bytes]:
    """Stand in for the process that makes a snapshot."""
    calls: list[bytes] = []

    def taken(pyodide, deno, sources, seconds):
        calls.append(sources)
        return b"memory of " + sources

    monkeypatch.setattr(snapshots, "_take", taken)
    return calls


def test_snapshot_is_made_once_for_each_source_and_engine(tmp_path, deno, monkeypatch):
    calls = made(monkeypatch)

    def snapshot(sources: bytes) -> Path:
        return snapshot_file(tmp_path, tmp_path, str(deno), sources, 10, print)

    first = snapshot(b"a")
    assert first.read_bytes() == b"memory of a"
    assert snapshot(b"a") == first
    assert snapshot(b"b") != first
    deno.write_bytes(b"another program")
    assert snapshot(b"a") != first
    assert calls == [b"a", b"b", b"a"]


def test_snapshot_that_nobody_uses_is_removed(tmp_path, deno, monkeypatch):
    made(monkeypatch)
    first = snapshot_file(tmp_path, tmp_path, str(deno), b"a", 10, print)
    second = snapshot_file(tmp_path, tmp_path, str(deno), b"b", 10, print)
    past = time.time() - 40 * 86400
    for path in (first, second):
        os.utime(path, (past, past))
    assert snapshot_file(tmp_path, tmp_path, str(deno), b"b", 10, print) == second
    third = snapshot_file(tmp_path, tmp_path, str(deno), b"c", 10, print)
    assert set(third.parent.iterdir()) == {second, third}


def test_snapshot_that_cannot_be_made_leaves_nothing(tmp_path, deno, monkeypatch):
    def taken(*arguments):
        raise SandboxDiedError("Deno process 1 ended with exit code 1: no memory")

    monkeypatch.setattr(snapshots, "_take", taken)
    with pytest.raises(ExecutorStartError, match=r"could not be prepared: .*no memory"):
        snapshot_file(tmp_path, tmp_path, str(deno), b"a", 10, print)
    assert list((tmp_path / "snapshots").iterdir()) == []

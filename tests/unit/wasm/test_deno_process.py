"""Starts of Deno for which this process lacks a descriptor."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.wasm.deno_process import DenoProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc lists descriptors")


@pytest.mark.parametrize("pipes", [0, 1])
def test_start_without_descriptors_leaves_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pipes: int
):
    stop_file = tmp_path / "stop"
    stop_file.touch()
    pipe, made = os.pipe, []

    def make_pipe():
        if len(made) == pipes:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        made.append(pipe())
        return made[-1]

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "pipe", make_pipe)
    with pytest.raises(ExecutorStartError, match="Deno cannot be started: Too many open files"):
        DenoProcess(["deno"], {}, str(stop_file))
    assert len(os.listdir("/proc/self/fd")) == before
    assert not stop_file.exists()

"""The Deno program and its command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.wasm.deno_binary import BARE_ENVIRONMENT, confined_command, find_deno


def program(folder: Path) -> Path:
    path = folder / "deno"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_missing_deno_says_which_extra_brings_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "deno", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExecutorStartError, match=r"pip install 'smolagents\[wasm\]'"):
        find_deno()


def test_deno_of_the_path_is_taken_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "deno", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = program(tmp_path)
    assert find_deno() == str(path)


def test_named_deno_is_taken_or_missed(tmp_path):
    with pytest.raises(ExecutorStartError, match="there is no such program"):
        find_deno(str(tmp_path / "deno"))
    path = program(tmp_path)
    assert find_deno(str(path)) == str(path)


def test_deno_is_the_same_wherever_it_is_started(tmp_path, monkeypatch):
    path = program(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert find_deno("./deno") == str(path)
    monkeypatch.setitem(sys.modules, "deno", None)
    monkeypatch.setenv("PATH", f":.:{tmp_path.name}")
    with pytest.raises(ExecutorStartError, match="which is not installed"):
        find_deno()


def test_command_has_one_permission():
    command = confined_command("deno", ["/a", "/b,c"], ["--flag=1", "--other"], ["serve", "x"])
    allowed = [part for part in command if part.startswith("--allow")]
    assert allowed == ["--allow-read=/a,/b,,c"]
    assert "-A" not in command
    assert "--v8-flags=--flag=1,--other" in command
    for name in ("net", "env", "write", "run", "ffi", "sys", "import"):
        assert f"--deny-{name}" in command
    assert {"--no-prompt", "--no-remote", "--no-npm", "--no-config"} <= set(command)
    assert command[-2:] == ["serve", "x"]


def test_data_folder_cannot_be_made():
    place = Path(BARE_ENVIRONMENT["DENO_DIR"])
    assert place.parent.is_file()
    with pytest.raises(OSError, match="Not a directory"):
        place.mkdir()

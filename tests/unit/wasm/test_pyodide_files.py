"""Pyodide's files: fetched once, and checked."""

from __future__ import annotations

import hashlib
import stat
import subprocess
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.wasm import deno_binary, pyodide_files
from smolagents_fork.wasm.pyodide_files import FILES, VERSION, cache_folder, check_files


@pytest.fixture
def release(monkeypatch) -> dict[str, bytes]:
    """A release of small files with the hashes that are expected of them."""
    files = {name: f"content of {name}".encode() for name in FILES}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    monkeypatch.setattr(pyodide_files, "FILES", hashes)
    check_files.cache_clear()
    yield files
    check_files.cache_clear()


def written(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def npm(monkeypatch, files: dict[str, bytes]) -> list[list[str]]:
    """Stand in for Deno's npm client: writes ``files`` where it would."""
    calls: list[list[str]] = []

    def run(command, *, environment, **options):
        calls.append(command)
        written(Path(environment["DENO_DIR"], "npm", "registry", "pyodide", VERSION), files)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(deno_binary, "run_program", run)
    return calls


def test_files_are_fetched_once(release, tmp_path, monkeypatch):
    calls = npm(monkeypatch, {**release, "console.html": b"not used"})
    notes: list[str] = []
    for _ in range(2):
        folder = pyodide_files.pyodide_files(tmp_path, "deno", 10, notes.append)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == release
    assert [call[-1] for call in calls] == [f"npm:pyodide@{VERSION}"]
    assert notes == [
        f"fetching Pyodide {VERSION} from npm, about 13 MB, once; it is kept in {tmp_path}"
    ]
    assert [path.name for path in tmp_path.iterdir()] == [f"pyodide-{VERSION}"]


def test_changed_download_is_refused_and_not_kept(release, tmp_path, monkeypatch):
    npm(monkeypatch, {**release, "pyodide.asm.wasm": b"changed"})
    with pytest.raises(ExecutorStartError, match=r"pyodide\.asm\.wasm is not the file of pyodide"):
        pyodide_files.pyodide_files(tmp_path, "deno", 10, print)
    assert list(tmp_path.iterdir()) == []


def test_failed_download_has_denos_words_and_the_other_way(release, tmp_path, monkeypatch):
    def run(command, **options):
        return subprocess.CompletedProcess(command, 1, "error: no route to host\n")

    monkeypatch.setattr(deno_binary, "run_program", run)
    with pytest.raises(ExecutorStartError, match=r"no route to host\n.*pyodide_dir="):
        pyodide_files.pyodide_files(tmp_path, "deno", 10, print)
    assert list(tmp_path.iterdir()) == []


def test_download_without_an_end_is_given_up(release, tmp_path, monkeypatch):
    def run(command, *, seconds, **options):
        raise subprocess.TimeoutExpired(command, seconds)

    monkeypatch.setattr(deno_binary, "run_program", run)
    with pytest.raises(ExecutorStartError, match="timed out after 10 seconds"):
        pyodide_files.pyodide_files(tmp_path, "deno", 10, print)


def test_file_that_is_missing_or_changed_is_named(release, tmp_path):
    folder = written(tmp_path / "pyodide", release)
    check_files(str(folder))
    check_files.cache_clear()
    (folder / "python_stdlib.zip").write_bytes(b"changed")
    with pytest.raises(ExecutorStartError, match=r"python_stdlib\.zip is not the file"):
        check_files(str(folder))
    (folder / "python_stdlib.zip").unlink()
    with pytest.raises(ExecutorStartError, match=r"python_stdlib\.zip cannot be read"):
        check_files(str(folder))


def test_cache_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pyodide_files.sys, "platform", "linux")
    folder = cache_folder()
    assert folder == tmp_path / "smolagents-fork" / "wasm"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache_folder(tmp_path / "other") == tmp_path / "other"


def test_cache_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ExecutorStartError, match=r"the cache folder .*file/below cannot be created"
    ):
        cache_folder(tmp_path / "file" / "below")

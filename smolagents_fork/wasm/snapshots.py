"""Snapshots of a guest's memory, taken when everything is imported and before any program."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from ..deadline import Deadline
from ..errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..guest.frames import Kind
from .deno_binary import GUEST_SCRIPT, confined_command
from .deno_process import DenoProcess, answer_of
from .pyodide_files import VERSION, write_cached

__all__ = ["START_BYTES", "snapshot_file"]

#: Memory that Pyodide has when a program begins.
START_BYTES = 32 << 20
_MOST_BYTES = 1 << 30
_UNUSED_SECONDS = 30 * 86400.0


def snapshot_file(
    cache: Path,
    pyodide: Path,
    deno: str,
    sources: bytes,
    seconds: float,
    note: Callable[[str], None],
) -> Path:
    """Return the snapshot of a guest with these sources, made if it is not in the cache.

    Args:
        cache: the folder of what is kept from start to start.
        pyodide: the folder of Pyodide's files.
        deno: the program; another release of its engine gets a snapshot of its own.
        sources: archive of the guest's modules.
        seconds: how long making it may take.
        note: takes a line for the user's log before it is made.

    Raises:
        ExecutorStartError: it could not be made.
    """
    engine = os.stat(deno)
    contents = hashlib.sha256(Path(GUEST_SCRIPT).read_bytes() + sources).hexdigest()
    key = f"{VERSION} {engine.st_size} {engine.st_mtime_ns} {contents}"
    path = cache / "snapshots" / f"{hashlib.sha256(key.encode()).hexdigest()}.bin"
    if not path.is_file():
        note("preparing Pyodide, some seconds, once")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            data = _take(pyodide, deno, sources, seconds)
        except (SandboxDiedError, ProtocolError) as error:
            raise ExecutorStartError(f"Pyodide could not be prepared: {error}") from None
        write_cached(path, data)
        _remove_unused(path.parent)
    os.utime(path)  # when it was used last
    return path


def _remove_unused(folder: Path) -> None:
    """Remove the snapshots of unused releases."""
    oldest = time.time() - _UNUSED_SECONDS
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _take(pyodide: Path, deno: str, sources: bytes, seconds: float) -> bytes:
    command = confined_command(deno, [str(pyodide)], [], ["snapshot", str(pyodide), "", ""])
    process = DenoProcess(command, {Kind.SNAPSHOT: _MOST_BYTES}, "")
    try:
        deadline = Deadline(seconds)
        return answer_of(
            process, Kind.SOURCES, sources, Kind.SNAPSHOT, deadline, "setup_timeout_seconds"
        )
    finally:
        process.close()

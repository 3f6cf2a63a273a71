"""Runs one command under a deadline and keeps its last words."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.regression.errors import SuiteError

__all__ = ["end_started", "last_words", "run"]

# Commands that are running, in any thread: each has a session of its own, so an interrupt at the
# terminal does not reach them by itself.
_running: set[subprocess.Popen[str]] = set()


def end_started() -> None:
    """Kill every command that is running, with what it started; their callers get an error."""
    for process in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def last_words(output: str, *, lines: int = 12) -> str:
    """The last lines of a command's output, for an error message."""
    return "\n".join(output.strip().splitlines()[-lines:])


def run(
    command: Sequence[str | Path],
    *,
    timeout_seconds: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    accept: Sequence[int] = (0,),
    log: Path | None = None,
) -> str:
    """Run a command and return what it wrote (output and errors together).

    Args:
        command: program and arguments.
        timeout_seconds: after these the command and everything it started are killed.
        env: its environment, or the caller's.
        cwd: its working folder, or the caller's.
        accept: exit statuses that are no error.
        log: file to keep the output in.

    Raises:
        SuiteError: not found, another exit status, or past its deadline; carries the last words.
    """
    words = [str(part) for part in command]
    try:
        # Its own session, so that a deadline also ends what the command started (servers, xdist).
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise SuiteError(f"{words[0]} cannot be started: {error}") from error
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=timeout_seconds)
        problem = f"ended with status {process.returncode}"
    except subprocess.TimeoutExpired:
        output = _end_session(process)
        problem = f"ran past timeout_seconds={timeout_seconds:g} and was killed"
    except BaseException:
        _end_session(process)
        raise
    finally:
        _running.discard(process)
    if log is not None:
        log.write_text(output, encoding="utf-8")
    if "killed" not in problem and process.returncode in accept:
        return output
    kept = f" (whole output: {log})" if log else ""
    shown = " ".join(words[:6])
    raise SuiteError(f"`{shown} ...` {problem}{kept}; its last words:\n{last_words(output)}")


def _end_session(process: subprocess.Popen[str]) -> str:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        output, _ = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        # A grandchild that left the session holds the pipe open; its words are not worth a wait.
        return "(output not available: a started process has left the session)"
    return output

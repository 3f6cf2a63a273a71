"""Runs a long command with a deadline, its output in a log."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["CommandError", "clean_environment", "run"]

# What would make a child see this checkout, or behave by somebody's habits.
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")

# Seconds between asking an overdue command to end and making it.
_GRACE_SECONDS = 5.0


class CommandError(Exception):
    """A command failed or was overdue; the message carries its last words."""


def clean_environment() -> dict[str, str]:
    """The environment without what would lead a child back to the checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.startswith(("GIT_", "PYTEST_XDIST", "COV_CORE"))
    }


def run(
    command: Sequence[str | Path],
    log: Path,
    *,
    timeout_seconds: float,
    cwd: Path,
    keep_open: tuple[int, ...] = (),
    env: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
) -> int:
    """Run a command and return its exit status.

    Args:
        command: program and arguments.
        log: file its output goes to, errors included.
        timeout_seconds: after these it is ended, with everything it has started.
        cwd: its working folder.
        keep_open: descriptors it inherits.
        env: variables to add to :func:`clean_environment`.
        accepted: exit statuses that are no failure.

    Raises:
        CommandError: another exit status, or overdue.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**clean_environment(), **(env or {})},
            pass_fds=keep_open,
            start_new_session=True,  # so that its children can be ended with it
        )
        try:
            status = process.wait(timeout_seconds)
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise CommandError(
                f"{_short(words)} took longer than {timeout_seconds:.0f} seconds and was ended:\n"
                f"{_tail(log)}"
            ) from None
    if status not in accepted:
        raise CommandError(f"{_short(words)} exited {status}:\n{_tail(log)}")
    return status


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(_GRACE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            continue


def _short(words: list[str]) -> str:
    return " ".join([Path(words[0]).name, *words[1:6]]) + (" ..." if len(words) > 6 else "")


def _tail(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    return "\n".join(lines[-40:])

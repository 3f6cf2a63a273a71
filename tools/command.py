"""Runs programs under a deadline, each in a session that is ended as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

from tools.errors import CommandError

__all__ = ["Command", "clean_environment", "inherited", "run"]

# Descriptors that every program inherits: of a lock that a program shall hold while it lives.
inherited: list[int] = []

# Seconds between asking a program to end and making it.
_GRACE_SECONDS = 5.0

# What would make a program see this checkout, or behave by somebody's habits.
_DROPPED = {"PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}


def clean_environment() -> dict[str, str]:
    """The environment without what would lead a program back to the checkout."""
    left_out = ("GIT_", "PYTEST_XDIST", "COV_CORE")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.startswith(left_out)
    }


class Command(contextlib.AbstractContextManager["Command"]):
    """A started program; leaving the ``with`` block ends it and all that it has started.

    Its output goes to files, so that a descendant that lives on keeps nobody waiting.

    Args:
        command: program and arguments.
        timeout_seconds: after these, counted from the start, :meth:`wait` ends it.
        cwd: its working folder; the caller's when None.
        env: its environment; :func:`clean_environment` when None.
        stdin: bytes for its standard input.
        log: file to keep its output and errors in.

    Raises:
        CommandError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        timeout_seconds: float,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        log: Path | None = None,
    ) -> None:
        words = [str(word) for word in command]
        self._label = " ".join([Path(words[0]).name, *words[1:6], *(["..."] if words[6:] else [])])
        self._log = log
        self._timeout_seconds = timeout_seconds
        self._deadline = time.monotonic() + timeout_seconds
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as files:
            given = files.enter_context(tempfile.TemporaryFile())
            given.write(stdin)
            given.seek(0)
            output = log.open("w+b") if log else tempfile.TemporaryFile()  # noqa: SIM115
            self._output: IO[bytes] = files.enter_context(output)
            self._errors: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
            try:
                self._process = subprocess.Popen(
                    words,
                    cwd=cwd,
                    env=clean_environment() if env is None else dict(env),
                    stdin=given,
                    stdout=self._output,
                    stderr=subprocess.STDOUT if log else self._errors,
                    pass_fds=inherited,
                    start_new_session=True,
                )
            except OSError as error:
                raise CommandError(f"{words[0]} cannot be started: {error}") from error
            self._files = files.pop_all()

    def __exit__(self, *_: object) -> None:
        self._end()
        self._files.close()

    def wait(self, accepted: Collection[int] | None = (0,)) -> tuple[int, bytes, bytes]:
        """Wait for its end; returns exit status, output and errors.

        Args:
            accepted: exit statuses that are no failure; None for all.

        Raises:
            CommandError: another exit status, or overdue; carries the last words.
        """
        problem = ""
        try:
            status = self._process.wait(max(0.0, self._deadline - time.monotonic()))
            if accepted is not None and status not in accepted:
                problem = f"exited {status}"
        except subprocess.TimeoutExpired:
            status = self._end()
            problem = f"ran past timeout_seconds={self._timeout_seconds:g} and was ended"
        # By offset: a descendant may still be writing at the descriptor's own.
        sizes = [
            (file.fileno(), os.fstat(file.fileno()).st_size)
            for file in (self._output, self._errors)
        ]
        output, errors = (os.pread(descriptor, size, 0) for descriptor, size in sizes)
        if problem:
            kept = f" (whole output: {self._log})" if self._log else ""
            said = (output + b"\n" + errors).decode("utf-8", "replace")
            raise CommandError(f"`{self._label}` {problem}{kept}", said)
        return status, output, errors

    def _end(self) -> int:
        """End it with its session, politely and then by force, if it still runs."""
        if self._process.poll() is None:
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_SECONDS)
        return self._process.wait()


def run(
    command: Sequence[str | Path],
    *,
    timeout_seconds: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    accepted: Collection[int] = (0,),
) -> str:
    """Run a program to its end and return its output as text; see :class:`Command`."""
    with Command(command, timeout_seconds=timeout_seconds, cwd=cwd, env=env, log=log) as started:
        return started.wait(accepted)[1].decode("utf-8", "replace")

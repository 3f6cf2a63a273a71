"""Run programs under a deadline, each in a session that is ended as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tools.errors import CommandError

__all__ = ["Command", "clean_environment", "end_session", "run"]

# Seconds between asking a program to end and making it.
_GRACE_SECONDS = 5.0

# Variables that would make a program see this checkout, or follow its caller's habits.
_DROPPED = {"PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
_DROPPED_PREFIXES = ("GIT_", "PYTEST_XDIST", "COV_CORE")


def clean_environment() -> dict[str, str]:
    """Return the environment without what would lead a program back to the checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES)
    }


class Command(contextlib.ExitStack):
    """A started program; leaving the ``with`` block ends it and all that it has started.

    Its output goes to files, so that a descendant that lives on keeps nobody waiting.

    Args:
        command: program and arguments.
        timeout_seconds: after these, counted from the start, :meth:`wait` ends it.
        cwd: its working folder; the caller's when None.
        env: its environment; :func:`clean_environment` when None.
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
        log: Path | None = None,
    ) -> None:
        super().__init__()
        words = [str(word) for word in command]
        self._label = " ".join([Path(words[0]).name, *words[1:6], *(["..."] if words[6:] else [])])
        self._log = log
        self._timeout_seconds = timeout_seconds
        self._deadline = time.monotonic() + timeout_seconds
        scratch = Path(self.enter_context(tempfile.TemporaryDirectory()))
        self._output, self._errors = log or scratch / "output", scratch / "errors"
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            try:
                self._process = subprocess.Popen(
                    words,
                    cwd=cwd,
                    env=clean_environment() if env is None else dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT if log else errors,
                    start_new_session=True,
                )
            except OSError as error:
                self.close()
                raise CommandError(f"{words[0]} cannot be started: {error}") from error
        self.callback(end_session, self._process)

    def wait(self, accepted: Collection[int] = (0,)) -> bytes:
        """Wait for its end and return its output, errors only where they are logged with it.

        Args:
            accepted: exit statuses that are not failures.

        Raises:
            CommandError: another exit status, or overdue; carries the last words.
        """
        problem = ""
        try:
            status = self._process.wait(max(0.0, self._deadline - time.monotonic()))
            if status not in accepted:
                problem = f"exited {status}"
        except subprocess.TimeoutExpired:
            end_session(self._process)
            problem = f"ran past timeout_seconds={self._timeout_seconds:g} and was ended"
        output = self._output.read_bytes()
        if problem:
            kept = f" (whole output: {self._log})" if self._log else ""
            text = (output + b"\n" + self._errors.read_bytes()).decode("utf-8", "replace")
            raise CommandError(f"`{self._label}` {problem}{kept}", text)
        return output

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()


def end_session(process: subprocess.Popen[bytes]) -> None:
    """End a process with its session, politely and then by force, if it still runs.

    Args:
        process: leader of its session.
    """
    if process.poll() is None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
    process.wait()


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
        return started.wait(accepted).decode("utf-8", "replace")

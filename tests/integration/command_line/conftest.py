"""The command as a user starts it, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from smolagents_fork.command_line.main import main

Command = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON it has written."""
        return json.loads(self.out)

    def checks(self, executor: str) -> dict[str, Any]:
        """The checks of one executor, of ``doctor --json``."""
        (found,) = [one for one in self.data["executors"] if one["executor"] == executor]
        return {check["check"]: check for check in found["checks"]}


@pytest.fixture
def command(monkeypatch, capsys) -> Command:
    """Run the command with these arguments, in this process.

    ``environment`` adds variables, and ``without`` removes some. ``before`` is Python that runs
    first and ``within`` a command that starts Python: both need a process of their own.
    """

    def run(
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
        before: str = "",
        within: tuple[str, ...] = (),
    ) -> Ended:
        with monkeypatch.context() as patch:
            for name in without:
                patch.delenv(name, raising=False)
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            if before or within:
                return _in_a_process(arguments, before, within)
            capsys.readouterr()
            try:
                code = main(arguments)
            except SystemExit as ended:  # argparse
                code = int(str(ended.code))
            shown = capsys.readouterr()
            return Ended(code, shown.out, shown.err)

    return run


def _in_a_process(arguments: Sequence[str], before: str, within: Sequence[str]) -> Ended:
    start = ["-m", "smolagents_fork"]
    if before:
        last = "from smolagents_fork.command_line.main import main; sys.exit(main())"
        start = ["-c", f"import sys\n{before}\n{last}"]
    done = subprocess.run(
        [*within, sys.executable, *start, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)

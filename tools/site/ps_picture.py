"""``docs/images/ps.svg``: ``smolagents-fork ps`` on a terminal, beside an application that runs.

``python -m tools.site.ps_picture`` draws it again; a container engine is needed. Sandboxes of other
applications on this machine are left out.
"""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tools.paths import ROOT

from .picture import save

__all__ = ["PICTURE", "main"]

PICTURE = ROOT / "docs" / "images" / "ps.svg"
#: Characters of a line.
WIDTH = 150
_COMMAND = "smolagents-fork ps"
_APPLICATION = """
from smolagents_fork import DockerExecutor, ProcessExecutor

with DockerExecutor() as first, DockerExecutor() as second, ProcessExecutor() as third:
    print("ready", flush=True)
    input()
"""


def main() -> int:
    """Start an application with sandboxes, and draw what the command prints about them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(_APPLICATION, "utf-8")
        # By its short name, so that no path of this machine is in the picture.
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        application = subprocess.Popen(
            ["python", "service.py"],
            executable=sys.executable,
            env={**os.environ, "PATH": path},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert application.stdout is not None
            if application.stdout.readline() != b"ready\n":
                raise SystemExit("the application did not start its sandboxes")
            lines = _on_a_terminal().splitlines()
        finally:
            application.communicate(b"\n")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(f"$ {_COMMAND}", highlight=False)
    for line in lines:
        text = Text.from_ansi(line)
        if text.plain.startswith("ID ") or f" {application.pid} " in text.plain:
            console.print(text)
    save(console, _COMMAND, PICTURE)
    return 0


def _on_a_terminal() -> str:
    """Return the command's output, as a terminal of :data:`WIDTH` columns gets it."""
    here, there = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    with open(here, "rb", buffering=0) as terminal:
        with open(there, "wb", buffering=0) as output:
            command = subprocess.Popen(
                [sys.executable, "-m", "smolagents_fork", "ps"], stdout=output, env=environment
            )
        pieces = []
        try:
            while piece := terminal.read(1 << 16):
                pieces.append(piece)
        except OSError:  # Linux's end of a terminal that nobody writes to
            pass
        if command.wait():
            raise SystemExit(f"{_COMMAND} ended with exit code {command.returncode}")
    return b"".join(pieces).decode()


if __name__ == "__main__":
    raise SystemExit(main())

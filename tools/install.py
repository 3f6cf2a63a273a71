"""Install with pip, and show what it does: ``python tools/install.py ARGUMENTS``.

A terminal shows one moving line with the time and pip's last line. Elsewhere each package that is
fetched or built is a line, and the start of the installation. The whole output follows when pip
fails. Only the standard library: nothing else is installed when the Makefile begins.
"""

from __future__ import annotations

import queue
import shutil
import subprocess
import sys
import threading
import time
from typing import IO

__all__ = ["main"]

#: Beginnings of pip's lines that say that another part of its work begins.
STEPS = ("Obtaining ", "Collecting ", "Building ", "Installing ")


def main(arguments: list[str]) -> int:
    """Run ``pip install`` with ``arguments``; return its exit status."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    begun = time.monotonic()
    process = subprocess.Popen(
        [*command, "--progress-bar", "off"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    lines = _lines(process.stdout)
    said: list[str] = []
    shown = sys.stdout.isatty()
    last = ""
    while True:
        try:
            line = lines.get(timeout=0.5)
        except queue.Empty:
            line = ""
        if line is None:
            break
        seconds = f"[{time.monotonic() - begun:5.1f} s]"
        if line.strip():
            last = line.strip()
            said.append(line)
        if shown:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[2K{seconds} {last}"[: width + 5], end="", flush=True)
        elif line.strip().startswith(STEPS) and ": finished" not in line:
            print(f"{seconds} {last[:100]}", flush=True)
    if shown:
        print("\r\x1b[2K", end="")
    status = process.wait()
    if status:
        print("".join(said), end="", file=sys.stderr)
    else:
        print(f"[{time.monotonic() - begun:5.1f} s] installed", flush=True)
    return status


def _lines(stream: IO[str]) -> queue.Queue[str | None]:
    """Return a queue that gets the lines of ``stream``, and ``None`` at its end."""
    found: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            found.put(line)
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A program of Gradio in a process of its own, until its ports listen."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from background import eventually

from tools.paths import ROOT

__all__ = ["gradio_process"]

_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}


@contextlib.contextmanager
def gradio_process(
    program: Path, ports: Sequence[int], log: Path, *arguments: str
) -> Iterator[None]:
    """Run a program during the block, which begins when it listens.

    Args:
        program: takes its ports and the arguments.
        ports: that it listens on.
        log: file for what it prints.
        *arguments: that follow the ports.
    """
    path = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(program), *map(str, ports), *arguments],
            env={**os.environ, **_QUIET, "PYTHONPATH": path},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        for port in ports:
            eventually(lambda: process.poll() is not None or _listens(port), 240)  # noqa: B023
            assert process.poll() is None, log.read_text("utf-8", "replace")
            assert _listens(port), log.read_text("utf-8", "replace")
        yield
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait(60)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False

"""A page as its reader uses it: files from the blocks with a title, commands from the others."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.chat_server import ChatServer
from tools.paths import ROOT

__all__ = [
    "Block",
    "Step",
    "answer",
    "blocks",
    "model_environment",
    "server_process",
    "walk",
    "write_files",
]

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
#: The text of a block that stands for a file of the repository. ruff reformats the short form with
#: quotation marks, which is an expression of Python.
_INCLUDED = re.compile(r"^--8<--\n(.+)\n--8<--$")
#: Title of a block that shows what the commands before it print.
OUTPUT = "output"
#: Seconds for one block of commands.
TIMEOUT_SECONDS = 500


class Block(NamedTuple):
    """A block of a page: its language, its title or the empty string, and its text."""

    language: str
    title: str
    text: str


class Step(NamedTuple):
    """A block of commands that was run: its text, its seconds, and all that it printed."""

    commands: str
    seconds: float
    output: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, with the files that they include."""
    found = []
    for language, title, text in _BLOCK.findall(page.read_text("utf-8")):
        included = _INCLUDED.match(text.strip())
        whole = (ROOT / included[1]).read_text("utf-8") if included else text
        found.append(Block(language, title, whole))
    return found


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows into a folder."""
    for block in blocks(page):
        if block.title and block.title != OUTPUT:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")


def answer(code: str) -> str:
    """Return a model's answer with code."""
    return f"Next.\n<code>\n{code}\n</code>"


@contextlib.contextmanager
def model_environment(model: ChatServer, **more: str) -> Iterator[dict[str, str]]:
    """Serve a model and give the environment of a reader who uses it."""
    with model.serving() as port:
        base = f"http://127.0.0.1:{port}/v1"
        # A reader whose environment has the fork, and no other model.
        left_out = {"HF_TOKEN", "OPENAI_API_KEY", "PYTHONPATH", "SMOLAGENTS_DEFAULT_EXECUTOR"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
        own = {"PATH": path, "COLUMNS": "100", "TERM": "dumb"}
        yield {**kept, **own, "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": base, **more}


@contextlib.contextmanager
def server_process(
    command: list[str], folder: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server for the block and end it in order; an error has its log, too."""
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=dict(env), stdout=log, stderr=log)
        try:
            yield server
        except BaseException as error:
            error.args = (*error.args, (folder / "server.log").read_text("utf-8"))
            raise
        finally:
            server.terminate()
            server.wait(120)


def walk(
    page: Path, folder: Path, env: Mapping[str, str], replaced: Mapping[str, str] | None = None
) -> list[Step]:
    """Write the files of a page and run its ``console`` blocks, in a folder.

    Args:
        page: the page.
        folder: the reader's.
        env: variables of the commands.
        replaced: what the reader writes for placeholders of the page.
    """
    write_files(page, folder)
    steps: list[Step] = []
    for block in blocks(page):
        if block.language == "console":
            steps.append(_run(block.text, folder, env, replaced or {}))
        elif block.title == OUTPUT:
            for line in block.text.splitlines():
                assert line.strip() in steps[-1].output, steps[-1].output
    return steps


def _run(text: str, folder: Path, env: Mapping[str, str], replaced: Mapping[str, str]) -> Step:
    for placeholder, value in replaced.items():
        text = text.replace(placeholder, value)
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return Step(text, time.monotonic() - began, done.stdout)

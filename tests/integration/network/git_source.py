"""A git repository that a server of files offers, and a client's copy of it."""

from __future__ import annotations

import http.server
import subprocess
from pathlib import Path

from tools.git import Git, environment

__all__ = ["clone", "serve_repository"]


def serve_repository(folder: Path) -> type[http.server.SimpleHTTPRequestHandler]:
    """Make a repository with the file ``file``, and return what serves it."""
    repository = Git(folder)
    repository.init("main")
    (folder / "file").write_text("content")
    repository.run("add", ".")
    repository.run("commit", "-qm", "first")
    repository.run("update-server-info")

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: object) -> None:
            pass

    return Files


def clone(address: str, folder: Path) -> str:
    """Clone a repository by the environment's proxy, and return the text of its file."""
    command = ["git", "clone", "-q", address, str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=120, env=environment())
    return (folder / "file").read_text()

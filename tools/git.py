"""Run git hermetically: no configuration, hook, attribute or variable of the machine reaches it.

A maintainer's ``diff.algorithm``, ``commit.gpgsign`` or ``core.autocrlf`` would change exported
bytes, and a ``GIT_DIR`` that a hook or an enclosing repository left in the environment would turn
a command for a scratch repository into one for the checkout.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tools.errors import GitError

__all__ = ["Git", "GitError", "environment"]

_NAME = "smolagents fork maintainers"
_EMAIL = "maintainers@smolagents-fork.invalid"

# Seconds that one git call may take. The repositories are small; a fetch of one tag is the slowest.
GIT_TIMEOUT_SECONDS = 300.0

# A scratch repository's own settings, so that a maintainer's git behaves in it as ours.
_CONFIG = f"""\
[user]
    name = {_NAME}
    email = {_EMAIL}
[core]
    attributesFile = /dev/null
    excludesFile = /dev/null
    hooksPath = /dev/null
    autocrlf = false
    fileMode = false
[commit]
    gpgSign = false
[gc]
    auto = 0
[rebase]
    autoSquash = true
[merge]
    conflictStyle = diff3
[rerere]
    enabled = true
    autoUpdate = true
"""

# How another machine is reached: the caller's affair, and no byte of ours depends on it.
_TRANSPORT = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSH", "GIT_SSH_COMMAND"})


def environment() -> dict[str, str]:
    """Return git's environment: without the caller's ``GIT_*`` variables but for transport's."""
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _TRANSPORT
        },
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": _NAME,
        "GIT_AUTHOR_EMAIL": _EMAIL,
        "GIT_COMMITTER_NAME": _NAME,
        "GIT_COMMITTER_EMAIL": _EMAIL,
        "LC_ALL": "C",
        "TZ": "UTC",
    }


class Git:
    """git for one repository, named outright, so that no enclosing repository is ever found.

    Args:
        folder: the repository's top folder (its work tree; ``.git`` stands in it).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git_dir = folder / ".git"

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        check: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one git command in the repository.

        Args:
            arguments: the command and its arguments.
            stdin: bytes for its standard input.
            check: raise on an exit status that is not 0.

        Raises:
            GitError: git exited with another status, or ran past its deadline.
        """
        where = ("--git-dir", str(self.git_dir), "--work-tree", str(self.folder))
        command = f"git {' '.join(arguments)}"
        try:
            done = subprocess.run(
                ["git", *where, *arguments],
                cwd=self.folder,
                env=environment(),
                input=stdin,
                capture_output=True,
                timeout=GIT_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"{command} ran past {GIT_TIMEOUT_SECONDS:g} seconds") from None
        except OSError as error:
            raise GitError(f"{command} cannot be started: {error}") from None
        if check and done.returncode:
            output = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
            raise GitError(f"{command} exited {done.returncode}", output)
        return done

    def text(self, *arguments: str) -> str:
        """Return a command's standard output as text without the final newline."""
        return self.run(*arguments).stdout.decode("utf-8", "replace").rstrip("\n")

    def lines(self, *arguments: str) -> list[str]:
        """Return the lines of a command's standard output."""
        return self.text(*arguments).splitlines()

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether a command exits with 0."""
        return self.run(*arguments, check=False).returncode == 0

    def init(self, branch: str) -> None:
        """Make the repository with HEAD on a branch; a maintainer's git behaves in it as ours."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Not --template: the machine's template may carry hooks and attributes.
        self.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        with (self.git_dir / "config").open("a", encoding="utf-8") as config:
            config.write(_CONFIG)
        attributes = self.git_dir / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        # Bytes go in and out as they are.
        attributes.write_text("* -text\n", "utf-8")

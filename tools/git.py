"""Runs git hermetically: no configuration, hook, attribute or variable of the machine reaches it.

A maintainer's ``diff.algorithm``, ``commit.gpgsign`` or ``core.autocrlf`` would change exported
bytes, and a ``GIT_DIR`` that a hook or an enclosing repository left in the environment would turn
a command for a scratch repository into one for the checkout.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["IDENTITY_EMAIL", "IDENTITY_NAME", "Git", "GitError", "environment"]

IDENTITY_NAME = "smolagents fork maintainers"
IDENTITY_EMAIL = "maintainers@smolagents-fork.invalid"

# Seconds that one git call may take. The repositories are small; a fetch of one tag is the slowest.
GIT_TIMEOUT_SECONDS = 300.0

# Given to every call, so that they hold whatever the repository's own configuration says.
_OPTIONS = (
    ("core.attributesFile", os.devnull),  # $XDG_CONFIG_HOME/git/attributes is read regardless
    ("core.excludesFile", os.devnull),
    ("core.hooksPath", os.devnull),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.fileMode", "false"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "true"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("rerere.enabled", "false"),
    ("advice.detachedHead", "false"),
    ("protocol.file.allow", "always"),
)


# How another machine is reached: the caller's affair, and no byte of ours depends on it.
_TRANSPORT = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSH", "GIT_SSH_COMMAND"})


class GitError(Exception):
    """git failed; the message carries the command, the status and git's own last words."""

    def __init__(self, command: Sequence[str], returncode: int, output: str) -> None:
        self.command = tuple(command)
        self.returncode = returncode
        self.output = output
        super().__init__(f"git {' '.join(command)} exited {returncode}:\n{output[-4000:].strip()}")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment git is run in: the caller's ``GIT_*`` variables but for transport's go.

    Args:
        extra: variables to add, such as ``GIT_AUTHOR_DATE``.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _TRANSPORT
    }
    return {
        **kept,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": IDENTITY_NAME,
        "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
        "GIT_COMMITTER_NAME": IDENTITY_NAME,
        "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
        "LC_ALL": "C",
        "TZ": "UTC",
        **(extra or {}),
    }


class Git:
    """git for one repository, named outright, so that no enclosing repository is ever found.

    Args:
        folder: the repository's top folder (its work tree; ``.git`` stands in it).
        keep_open: descriptors that git inherits, such as that of a lock it shall hold as well.
    """

    def __init__(self, folder: Path, keep_open: tuple[int, ...] = ()) -> None:
        self.folder = folder
        self.keep_open = keep_open
        self.git_dir = folder / ".git"

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one git command in the repository.

        Args:
            arguments: the command and its arguments.
            stdin: bytes for its standard input; None gives it an empty one.
            env: variables to add to the hermetic environment.
            check: raise on an exit status that is not 0.

        Raises:
            GitError: git exited with another status, or ran past its deadline.
        """
        options = [word for name, value in _OPTIONS for word in ("-c", f"{name}={value}")]
        command = ["git", "--git-dir", str(self.git_dir), "--work-tree", str(self.folder)]
        try:
            done = subprocess.run(
                [*command, *options, *arguments],
                cwd=self.folder,
                env=environment(env),
                input=stdin if stdin is not None else b"",
                pass_fds=self.keep_open,
                capture_output=True,
                timeout=GIT_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            what = f"longer than {GIT_TIMEOUT_SECONDS:.0f} seconds; it was ended"
            raise GitError(arguments, -1, what) from None
        if check and done.returncode:
            words = (done.stdout[-4000:] + done.stderr[-4000:]).decode("utf-8", "replace")
            raise GitError(arguments, done.returncode, words)
        return done

    def text(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Standard output of a command, as text without the final newline.

        Raises:
            GitError: see :meth:`run`.
        """
        return self.run(*arguments, env=env).stdout.decode("utf-8", "replace").rstrip("\n")

    def lines(self, *arguments: str) -> list[str]:
        """Standard output of a command, by line.

        Raises:
            GitError: see :meth:`run`.
        """
        return self.text(*arguments).splitlines()

    def init(self, branch: str) -> None:
        """Make the repository, so configured that a maintainer's own git behaves in it as ours.

        Args:
            branch: name of the branch that HEAD stands on.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        # Not --template: the machine's template may carry hooks and attributes.
        self.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        for name, value in (
            ("user.name", IDENTITY_NAME),
            ("user.email", IDENTITY_EMAIL),
            ("core.autocrlf", "false"),
            ("core.hooksPath", os.devnull),
            ("commit.gpgSign", "false"),
            ("rebase.autoSquash", "true"),
        ):
            self.run("config", name, value)
        attributes = self.git_dir / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        # Bytes go in and out as they are.
        attributes.write_text("* -text\n", "utf-8")

"""Folders of tests whose subject is as on the default branch of the remote.

A folder is left out of ``make test`` when no file of its subject differs from the merge base of the
checkout with that branch: neither in a commit nor in the work tree. Without git, a remote or a
common commit, nothing is left out. ``make test-all`` leaves out nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.errors import CommandError
from tools.git import Git
from tools.paths import ROOT

__all__ = ["SUBJECTS", "unchanged_folders"]

_ALWAYS = ("pyproject.toml", "requirements-dev.txt", "tests/conftest.py", "upstream.lock")
#: Folder of tests -> files and folders that its tests are about.
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "tests/build": (
        *("buildsys", "docker", "patches", "smolagents_fork", "stubs", "tests/build"),
        *("tests/contract", "tools/upstream", *_ALWAYS),
    ),
    "tests/tools": (
        *(".ci", ".github", "buildsys", "patches", "tests/tools", "tests/upstream", "tools"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "RELEASING.md", *_ALWAYS),
    ),
}


def unchanged_folders(root: Path = ROOT, branch: str = "origin/HEAD") -> list[str]:
    """List the folders of tests whose subject has not changed.

    Args:
        root: the checkout.
        branch: remote branch that the checkout is compared with.
    """
    git = Git(root)
    try:
        base = git.text("merge-base", "HEAD", branch)
        changed = git.text("diff", "--name-only", base).splitlines()
        changed += git.text("ls-files", "--others", "--exclude-standard").splitlines()
    except CommandError:
        return []
    return [
        folder
        for folder, subject in SUBJECTS.items()
        if not any(
            name == part or name.startswith(f"{part}/") for name in changed for part in subject
        )
    ]

"""Marks of tests whose subject is as on the default branch of the remote.

``make test`` leaves out the tests with such a mark when no file of their subject differs from the
merge base of the checkout with that branch: neither in a commit nor in the work tree. Without git,
a remote or a common commit, nothing is left out. ``make test-all`` leaves out nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.errors import CommandError
from tools.git import Git
from tools.paths import ROOT

__all__ = ["SUBJECTS", "unchanged_subjects"]

_ALWAYS = ("pyproject.toml", "requirements-dev.txt", "tests/conftest.py", "upstream.lock")
#: Packages that start, reach and end a sandbox of any engine, and the tests that all engines have.
_SANDBOXES = (
    *("smolagents_fork/executors", "smolagents_fork/guest", "smolagents_fork/jupyter"),
    *("smolagents_fork/process", "smolagents_fork/sandboxes", "smolagents_fork/stream"),
    *("smolagents_fork/system", "tests/contract"),
)
#: Mark -> files and folders that the tests with the mark are about.
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "agent_sandbox": (
        *_SANDBOXES,
        *("docker", "smolagents_fork/agent_sandbox", "smolagents_fork/bridge"),
        *("tests/integration/agent_sandbox", *_ALWAYS),
    ),
    "build": (
        *("buildsys", "docker", "patches", "smolagents_fork", "stubs", "tests/build"),
        *("tests/contract", "tools/upstream", *_ALWAYS),
    ),
    "hosted": (*_SANDBOXES, "patches", "tests/integration/hosted", *_ALWAYS),
    "images": (
        *("docker", "smolagents_fork/distributions", "smolagents_fork/executors"),
        *("smolagents_fork/sandboxes", "tests/integration/docker", *_ALWAYS),
    ),
    "kubernetes": (
        *(*_SANDBOXES, "tests/cluster_double.py", "tests/fault_proxy.py"),
        *("tests/integration/hosted", "tests/integration/kubernetes", *_ALWAYS),
    ),
    "ray": (
        *_SANDBOXES,
        *("smolagents_fork/ray_cluster", "tests/integration/ray", "tests/unit/ray_cluster"),
        *("tests/ray_nodes", *_ALWAYS),
    ),
    "tools": (
        *(".ci", ".github", "buildsys", "patches", "tests/tools", "tests/upstream", "tools"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "RELEASING.md", *_ALWAYS),
    ),
    "wasm": (
        *_SANDBOXES,
        *("smolagents_fork/bridge", "smolagents_fork/codec", "smolagents_fork/distributions"),
        *("smolagents_fork/folders", "smolagents_fork/interpreter", "smolagents_fork/network"),
        *("smolagents_fork/wasm", "tests/integration/wasm", *_ALWAYS),
    ),
}


def unchanged_subjects(root: Path = ROOT, branch: str = "origin/HEAD") -> list[str]:
    """List the marks of tests whose subject has not changed.

    Args:
        root: the checkout.
        branch: remote branch that the checkout is compared with.
    """
    git = Git(root)
    try:
        base = git.text("merge-base", "HEAD", branch)
        changed = git.lines("diff", "--name-only", base)
        changed += git.lines("ls-files", "--others", "--exclude-standard")
    except CommandError:
        return []
    return [
        mark
        for mark, subject in SUBJECTS.items()
        if not any(
            name == part or name.startswith(f"{part}/") for name in changed for part in subject
        )
    ]

"""The fork's version: upstream's release plus a PEP 440 local part."""

from __future__ import annotations

import ast
from pathlib import Path

from buildsys.errors import BuildError
from buildsys.lock import Lock

__all__ = ["fork_version", "read_version_file", "write_version_file"]


def read_version_file(path: Path) -> tuple[str, int]:
    """Read upstream's version and the fork's revision from ``smolagents_fork/_version.py``.

    The file is parsed, not imported: at build time the package's dependencies are not installed.

    Raises:
        BuildError: one of the two constants is missing or of the wrong type.
    """
    values: dict[str, object] = {}
    try:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = ast.literal_eval(node.value)
    except (OSError, ValueError, SyntaxError) as error:
        raise BuildError(f"{path}: expected two constants, but reading failed: {error}") from None
    upstream, revision = values.get("upstream_version"), values.get("fork_revision")
    if not isinstance(upstream, str) or type(revision) is not int or revision < 1:
        raise BuildError(
            f"{path}: expected upstream_version = '<text>' and fork_revision = <int of 1 or more>, "
            f"got {upstream!r} and {revision!r}"
        )
    return upstream, revision


def write_version_file(path: Path, upstream_version: str, fork_revision: int) -> None:
    """Set both constants and keep the rest of the file."""
    lines = path.read_text("utf-8").splitlines()
    for index, line in enumerate(lines):
        if line.startswith("upstream_version ="):
            lines[index] = f'upstream_version = "{upstream_version}"'
        elif line.startswith("fork_revision ="):
            lines[index] = f"fork_revision = {fork_revision}"
    path.write_text("\n".join(lines) + "\n", "utf-8")


def fork_version(path: Path, lock: Lock) -> str:
    """Return the distribution's version, such as ``1.26.0+fork.1``.

    Raises:
        BuildError: the version file and the lock name different releases.
    """
    upstream, revision = read_version_file(path)
    if upstream != lock.version:
        raise BuildError(
            f"{path}: upstream_version is {upstream!r}, upstream.lock has {lock.version!r}; "
            f"make rebase-upstream writes both"
        )
    return f"{upstream}+fork.{revision}"

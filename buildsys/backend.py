"""PEP 517 and PEP 660 build backend: hatchling's, with a staged ``smolagents`` package.

A front end (pip, uv, build) installs the requirements that :func:`get_requires_for_build_wheel`
returns, including upstream's release, with the user's index settings. It then calls
:func:`build_wheel`.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hatchling.build as hatchling

from buildsys import lock as lockfile
from buildsys import staging
from buildsys.release import PACKAGE
from buildsys.tree import fork_tree, write_tree

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

_Settings = dict[str, Any] | None

ROOT = Path(__file__).resolve().parent.parent

get_requires_for_build_sdist = hatchling.get_requires_for_build_sdist
# Hatchling omits the metadata hooks under pip, which then builds the wheel to get the metadata.
if hasattr(hatchling, "prepare_metadata_for_build_wheel"):
    prepare_metadata_for_build_wheel = hatchling.prepare_metadata_for_build_wheel
    prepare_metadata_for_build_editable = hatchling.prepare_metadata_for_build_editable


def _upstream_requirement() -> str:
    return f"{PACKAGE}=={lockfile.load(ROOT / 'upstream.lock').version}"


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    """Return hatchling's requirements and upstream's locked release (PEP 517)."""
    return [*hatchling.get_requires_for_build_wheel(config_settings), _upstream_requirement()]


def get_requires_for_build_editable(config_settings: _Settings = None) -> list[str]:
    """Return the same requirements as for a wheel (PEP 660)."""
    return [*hatchling.get_requires_for_build_editable(config_settings), _upstream_requirement()]


@contextmanager
def _staged() -> Iterator[None]:
    """Write the patched package to a temporary folder and pass its path to the wheel hook.

    The tree is complete in memory before the first byte is written. The folder is always removed,
    so a failed build leaves nothing behind.
    """
    tree = fork_tree(ROOT)
    with tempfile.TemporaryDirectory(prefix="smolagents-fork-") as folder:
        write_tree(tree, Path(folder))
        with staging.announced(Path(folder) / PACKAGE):
            yield


def _write_whole(build: Callable[..., str], folder: str, *arguments: Any) -> str:
    """Build an archive beside its place and move it there, so that no part of one is left."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as unfinished:
        name = build(unfinished, *arguments)
        os.replace(Path(unfinished, name), Path(folder, name))
    return name


def _build_plain_wheel(folder: str, *arguments: Any) -> str:
    """Build a wheel whose files are not executable, whatever they are in the checkout.

    Some file systems call every file executable.
    """
    name = hatchling.build_wheel(folder, *arguments)
    built, plain = Path(folder, name), Path(folder, f"{name}.plain")
    with zipfile.ZipFile(built) as source, zipfile.ZipFile(plain, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            target.writestr(entry, content)
    plain.replace(built)
    return name


def build_sdist(sdist_directory: str, config_settings: _Settings = None) -> str:
    """Build the source distribution (PEP 517)."""
    return _write_whole(hatchling.build_sdist, sdist_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel (PEP 517).

    Raises:
        BuildError: a step failed; names file, line and what was expected. No wheel is written.
    """
    with _staged():
        return _write_whole(
            _build_plain_wheel, wheel_directory, config_settings, metadata_directory
        )


def build_editable(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel (PEP 660): ``smolagents`` built, ``smolagents_fork`` live."""
    with _staged():
        return _write_whole(
            hatchling.build_editable, wheel_directory, config_settings, metadata_directory
        )

"""Make ``upstream.lock`` from a release's wheel and source distribution."""

from __future__ import annotations

import hashlib
import tempfile
from importlib.metadata import PathDistribution
from pathlib import Path

from buildsys.lock import Archive, Lock, requirements_from_metadata
from buildsys.release import PACKAGE, locked_names
from tools.upstream.fetch import unpack_wheel

__all__ = ["lock_of_release"]


def _archive(path: Path) -> Archive:
    return Archive(path.name, hashlib.sha256(path.read_bytes()).hexdigest())


def lock_of_release(version: str, wheel: Path, sdist: Path) -> Lock:
    """Return the lock of one release."""
    with tempfile.TemporaryDirectory() as scratch:
        site = unpack_wheel(wheel, Path(scratch))
        info = site / f"{PACKAGE}-{version}.dist-info"
        requires_python, dependencies, extras = requirements_from_metadata(
            (info / "METADATA").read_text("utf-8")
        )
        files = {
            name: hashlib.sha256((site / name).read_bytes()).hexdigest()
            for name in locked_names(site, version)
        }
        entry_points: dict[str, dict[str, str]] = {}
        for entry_point in PathDistribution(info).entry_points:
            entry_points.setdefault(entry_point.group, {})[entry_point.name] = entry_point.value
    return Lock(
        version=version,
        wheel=_archive(wheel),
        sdist=_archive(sdist),
        files=files,
        requires_python=requires_python,
        dependencies=dependencies,
        extras=extras,
        entry_points=entry_points,
    )

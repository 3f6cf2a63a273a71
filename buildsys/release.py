"""Upstream's installed release: located, and verified against the lock."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
from pathlib import Path, PurePosixPath

from buildsys.errors import BuildError
from buildsys.lock import Lock

__all__ = ["PACKAGE", "installed_release", "locked_names", "verified_release"]

PACKAGE = "smolagents"

# Written by installers, so not part of the release. Every installer rewrites RECORD; the lock's
# hashes are used instead of those in it.
_INSTALLERS_OWN = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}

# pip and uv also build wheels from source distributions; those have other files and metadata.
_WHEEL_ONLY = (
    "it must be installed from the release's own wheel: allow wheels (no --no-binary) for "
    + PACKAGE
)


def installed_release(lock: Lock) -> Path:
    """Return the folder in which upstream's release is installed (a ``site-packages``).

    Args:
        lock: names the required version.

    Raises:
        BuildError: the release is not installed, has another version, or is the fork itself.
    """
    wanted = f"{PACKAGE}=={lock.version}"
    try:
        distribution = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise BuildError(
            f"{wanted} is not installed in the build environment; build with isolation "
            f"(the default), or install {wanted} first"
        ) from None
    if "+" in distribution.version:
        raise BuildError(
            f"the build environment has {PACKAGE} {distribution.version}, which is the fork: "
            f"the fork is built from upstream's release; build with isolation, or install {wanted}"
        )
    if distribution.version != lock.version:
        raise BuildError(
            f"the build environment has {PACKAGE} {distribution.version}; expected {lock.version}"
        )
    return Path(str(distribution.locate_file("")))


def locked_names(site: Path, version: str) -> list[str]:
    """List the release's files below a ``site-packages``, without installer files.

    Args:
        site: the folder the release is installed or unpacked in.
        version: the release's version.
    """
    names: list[str] = []
    for top in (PACKAGE, f"{PACKAGE}-{version}.dist-info"):
        for path in sorted((site / top).rglob("*")):
            name = PurePosixPath(path.relative_to(site).as_posix())
            if not path.is_file() or "__pycache__" in name.parts or path.suffix == ".pyc":
                continue
            if name.parts[0] != PACKAGE and name.name in _INSTALLERS_OWN:
                continue
            names.append(str(name))
    return names


def verified_release(site: Path, lock: Lock) -> dict[str, bytes]:
    """Read the release and verify every file against the lock.

    Args:
        site: the folder the release is installed in.
        lock: sha256 of every file.

    Returns:
        Every locked file's bytes by relative path.

    Raises:
        BuildError: a file is missing, is not in the lock, or differs; names the file and the sums.
    """
    tree: dict[str, bytes] = {}
    for name, expected in lock.files.items():
        try:
            content = (site / name).read_bytes()
        except FileNotFoundError:
            raise BuildError(
                f"{name}: in the lock, but not in the installed release at {site}; {_WHEEL_ONLY}"
            ) from None
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected:
            raise BuildError(
                f"{name}: sha256 is {digest}, expected {expected} (upstream.lock): the installed "
                f"release is not the one that the fork is built from; {_WHEEL_ONLY}"
            )
        tree[name] = content
    stray = sorted(set(locked_names(site, lock.version)) - set(lock.files))
    if stray:
        raise BuildError(f"{stray[0]}: in the installed release, but not in upstream.lock")
    recorded = _recorded_elsewhere(site, lock)
    if recorded:
        raise BuildError(
            f"{recorded[0]}: the installed release's RECORD lists it, but upstream.lock does not; "
            f"its code may have run already"
        )
    return tree


def _recorded_elsewhere(site: Path, lock: Lock) -> list[str]:
    """List the files outside the release's two folders that its installation wrote.

    A wheel can put files such as ``x.pth`` beside its package. The installer lists them in RECORD.
    Console scripts of the lock are expected.
    """
    info = f"{PACKAGE}-{lock.version}.dist-info"
    try:
        record = (site / info / "RECORD").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{info}/RECORD: cannot be read: {error}; {_WHEEL_ONLY}") from None
    elsewhere = []
    for row in csv.reader(record.splitlines()):
        path = PurePosixPath(row[0].replace("\\", "/") if row else "")
        is_script = (
            path.parent.name in ("bin", "Scripts")
            and path.name.removesuffix(".exe") in lock.scripts
        )
        if path.parts and path.parts[0] not in (PACKAGE, info) and not is_script:
            elsewhere.append(str(path))
    return sorted(elsewhere)

"""Fetch releases through pip, so that the user's index, proxy and certificates apply.

No index address stands here or anywhere else in the project.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.version import Version

from buildsys.release import PACKAGE
from tools.command import run
from tools.errors import CommandError, FetchError

__all__ = [
    "check_digest",
    "fetch_sdist",
    "fetch_wheel",
    "released_versions",
    "unpack_sdist",
    "unpack_wheel",
]

# Seconds that one pip call may take: a release is 200 KB, but its sdist needs a build environment.
PIP_TIMEOUT_SECONDS = 300.0


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    try:
        return run(command, timeout_seconds=PIP_TIMEOUT_SECONDS)
    except CommandError as error:
        lines = [line for line in str(error).splitlines() if "WARNING" not in line]
        raise FetchError("\n".join(lines)) from None


def released_versions() -> list[Version]:
    """Return final releases on the index, oldest first; pre-releases are left out.

    Raises:
        FetchError: the index does not answer, or answers with none.
    """
    output = _pip("index", "versions", PACKAGE)
    match = re.search(r"^Available versions: (.+)$", output, re.MULTILINE)
    # pip itself leaves out what is not a version.
    versions = [Version(text.strip()) for text in match[1].split(",")] if match else []
    releases = [version for version in versions if not version.is_prerelease and not version.local]
    if not releases:
        raise FetchError(f"the package index lists no release of {PACKAGE}: {output[-500:]!r}")
    return sorted(releases)


def _download(cache: Path, version: str, name: str, option: str) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    if cached := sorted(cache.glob(name)):
        return cached[0]
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        wanted = ("--no-deps", option, PACKAGE, f"{PACKAGE}=={version}")
        _pip("download", "--quiet", *wanted, "--dest", scratch)
        fetched = sorted(Path(scratch).glob(name))
        if len(fetched) != 1:
            names = sorted(path.name for path in Path(scratch).iterdir())
            raise FetchError(f"expected one file {name} from pip download, got {names}")
        # Renamed into place, so that an interrupted download is never taken for a whole one.
        return Path(shutil.move(fetched[0], cache / fetched[0].name))


def fetch_wheel(version: str, cache: Path) -> Path:
    """Return the release's wheel, from the cache folder or else through pip.

    Raises:
        FetchError: pip failed or gave something else.
    """
    return _download(cache, version, f"{PACKAGE}-{version}-*.whl", "--only-binary")


def fetch_sdist(version: str, cache: Path) -> Path:
    """Return the release's source distribution, from the cache folder or else through pip.

    Raises:
        FetchError: pip failed or gave something else.
    """
    return _download(cache, version, f"{PACKAGE}-{version}.tar.gz", "--no-binary")


def check_digest(path: Path, expected: str) -> None:
    """Check the sha256 of a file.

    Raises:
        FetchError: it has another.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != expected:
        raise FetchError(
            f"{path}: sha256 is {digest}, expected {expected}; "
            f"remove the file to have it fetched again, or look into why it has changed"
        )


def unpack_wheel(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel into an empty folder and return the folder.

    ``zipfile`` strips ``..`` and absolute paths itself.
    """
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def unpack_sdist(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution; returns its single top folder.

    Raises:
        FetchError: a member would leave the folder, or is neither file nor folder.
    """
    try:
        with tarfile.open(sdist) as archive:
            odd = [member.name for member in archive if not (member.isfile() or member.isdir())]
            if odd:
                raise FetchError(f"{sdist.name}: {odd[0]} is neither a file nor a folder")
            archive.extractall(folder, filter="data")
    except tarfile.FilterError as error:
        raise FetchError(f"{sdist.name}: {error}") from None
    tops = sorted(path for path in folder.iterdir() if path.is_dir())
    if len(tops) != 1:
        raise FetchError(f"{sdist.name}: expected one top folder, got {[p.name for p in tops]}")
    return tops[0]

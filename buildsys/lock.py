"""``upstream.lock``: the upstream release that the fork is built from, byte for byte.

The format is JSON, because the standard library of Python 3.10 cannot read TOML.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from email.parser import HeaderParser
from pathlib import Path

from buildsys.errors import BuildError

__all__ = ["Archive", "Lock", "load", "requirements_from_metadata", "save"]

FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_EXTRA_MARKER = re.compile(
    r"\A(?P<base>.*?)\s*;\s*(?:\((?P<rest>.+)\)\s+and\s+)?"
    r"extra\s*==\s*[\"'](?P<extra>[^\"']+)[\"']\Z"
)


@dataclass(frozen=True)
class Archive:
    """A file of the release on the index: its name and the sha256 of its bytes, in hex."""

    filename: str
    sha256: str


@dataclass(frozen=True)
class Lock:
    """Upstream release that the fork is built from.

    Attributes:
        version: upstream's version, such as ``1.26.0``.
        wheel: the release's wheel.
        sdist: the release's source distribution, which contains upstream's tests.
        files: sha256 in hex of every file that installing the wheel writes, by relative path.
        requires_python: upstream's ``Requires-Python``.
        dependencies: upstream's requirements without extras.
        extras: upstream's requirements by extra.
        scripts: upstream's console scripts, name to ``module:function``.
    """

    version: str
    wheel: Archive
    sdist: Archive
    files: dict[str, str]
    requires_python: str
    dependencies: list[str]
    extras: dict[str, list[str]]
    scripts: dict[str, str]


def load(path: Path) -> Lock:
    """Read and validate a lock.

    Args:
        path: the ``upstream.lock`` file.

    Raises:
        BuildError: the file is missing, is not JSON, has another format, or lacks a field.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BuildError(f"{path}: missing; it names the upstream release to build from") from None
    except ValueError as error:
        raise BuildError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise BuildError(f"{path}: expected an object with format {FORMAT}")
    try:
        for name in ("wheel", "sdist"):
            data[name] = Archive(**data[name])
        lock = Lock(**data)
    except (KeyError, TypeError) as error:
        raise BuildError(f"{path}: fields are missing or unknown: {error}") from None
    sums = {
        **lock.files,
        lock.wheel.filename: lock.wheel.sha256,
        lock.sdist.filename: lock.sdist.sha256,
    }
    for name, digest in sums.items():
        if not _SHA256.match(digest):
            raise BuildError(f"{path}: {name}: expected 64 hex digits of a sha256, got {digest!r}")
    return lock


def save(path: Path, lock: Lock) -> None:
    """Write a lock in canonical form (sorted files, indentation of two, final newline)."""
    data = {"format": FORMAT, **asdict(lock)}
    data["files"] = dict(sorted(lock.files.items()))
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", "utf-8")


def requirements_from_metadata(
    metadata: str,
) -> tuple[str, list[str], dict[str, list[str]]]:
    """Split the requirements of a METADATA file into those without and with extras.

    Args:
        metadata: text of the release's METADATA file.

    Returns:
        ``Requires-Python``, the requirements without extras, and those by extra, in file order.
    """
    headers = HeaderParser().parsestr(metadata)
    dependencies: list[str] = []
    extras: dict[str, list[str]] = {name: [] for name in headers.get_all("Provides-Extra") or []}
    for requirement in headers.get_all("Requires-Dist") or []:
        match = _EXTRA_MARKER.match(requirement)
        if match is None:
            dependencies.append(requirement)
            continue
        base = match["base"] if match["rest"] is None else f"{match['base']}; {match['rest']}"
        extras[match["extra"]].append(base)
    return headers["Requires-Python"] or "", dependencies, extras

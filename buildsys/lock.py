"""``upstream.lock``: the upstream release that the fork is built from, byte for byte.

The format is JSON, because the standard library of Python 3.10 cannot read TOML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from buildsys.errors import BuildError
from buildsys.paths import is_plain_path

__all__ = ["Archive", "Lock", "load", "requirements_from_metadata", "save"]

FORMAT = 2
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_VERSION = re.compile(r"[0-9][0-9a-z.]*\Z")
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
        entry_points: upstream's entry points by group, name to ``module:object``.
    """

    version: str
    wheel: Archive
    sdist: Archive
    files: dict[str, str]
    requires_python: str
    dependencies: list[str]
    extras: dict[str, list[str]]
    entry_points: dict[str, dict[str, str]]

    @property
    def scripts(self) -> dict[str, str]:
        """Console scripts, name to ``module:function``."""
        return self.entry_points.get("console_scripts", {})


def load(path: Path) -> Lock:
    """Read and validate a lock.

    Args:
        path: the ``upstream.lock`` file.

    Raises:
        BuildError: the file is missing, is not JSON, has another format, lacks a field, or a field
            has a value of another type or form.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BuildError(f"{path}: missing; it names the upstream release to build from") from None
    except (ValueError, RecursionError) as error:
        raise BuildError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise BuildError(f"{path}: expected an object with format {FORMAT}")
    fields = _Fields(path)
    try:
        return Lock(**{name: _READERS[name](fields, name, value) for name, value in data.items()})
    except (KeyError, TypeError) as error:
        raise BuildError(f"{path}: fields are missing or unknown: {error}") from None


class _Fields:
    """Checks of a lock's values; every error names the file, the field and the value."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _error(self, name: str, expected: str, value: object) -> BuildError:
        shown = repr(value)
        shown = shown if len(shown) <= 100 else f"{shown[:100]}..."
        return BuildError(f"{self._path}: {name}: expected {expected}, got {shown}")

    def text(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.isprintable():
            raise self._error(name, "one line of text", value)
        return value

    def version(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not _VERSION.match(value):
            raise self._error(name, "a release's version such as '1.26.0'", value)
        return value

    def digest(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not _SHA256.match(value):
            raise self._error(name, "64 hex digits of a sha256", value)
        return value

    def texts(self, name: str, value: Any) -> list[str]:
        if not isinstance(value, list):
            raise self._error(name, "a list of texts", value)
        return [self.text(f"{name}[{index}]", item) for index, item in enumerate(value)]

    def requirements(self, name: str, value: Any) -> list[str]:
        for index, text in enumerate(self.texts(name, value)):
            try:
                Requirement(text)
            except InvalidRequirement:
                wanted = "a requirement such as 'rich>=13.9.4'"
                raise self._error(f"{name}[{index}]", wanted, text) from None
        return list(value)

    def table(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(name, "an object", value)
        return value

    def archive(self, name: str, value: Any) -> Archive:
        table = self.table(name, value)
        if table.keys() != {"filename", "sha256"}:
            raise self._error(name, "an object with filename and sha256", value)
        filename = self.text(f"{name}.filename", table["filename"])
        if not is_plain_path(filename) or "/" in filename:
            raise self._error(f"{name}.filename", "a file's name without a folder", filename)
        return Archive(filename, self.digest(f"{name}.sha256", table["sha256"]))

    def files(self, name: str, value: Any) -> dict[str, str]:
        table = self.table(name, value)
        for path in table:
            if not is_plain_path(path):
                raise self._error(name, "plain relative paths without '..'", path)
        return {path: self.digest(f"{name}: {path}", digest) for path, digest in table.items()}

    def extras(self, name: str, value: Any) -> dict[str, list[str]]:
        return {
            self.text(name, extra): self.requirements(f"{name}.{extra}", requirements)
            for extra, requirements in self.table(name, value).items()
        }

    def entry_points(self, name: str, value: Any) -> dict[str, dict[str, str]]:
        return {
            self.text(name, group): {
                self.text(f"{name}.{group}", entry): self.text(f"{name}.{group}.{entry}", target)
                for entry, target in self.table(f"{name}.{group}", entries).items()
            }
            for group, entries in self.table(name, value).items()
        }


_READERS: dict[str, Callable[[_Fields, str, Any], Any]] = {
    "version": _Fields.version,
    "wheel": _Fields.archive,
    "sdist": _Fields.archive,
    "files": _Fields.files,
    "requires_python": _Fields.text,
    "dependencies": _Fields.requirements,
    "extras": _Fields.extras,
    "entry_points": _Fields.entry_points,
}


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

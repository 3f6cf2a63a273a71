"""The modules of this package that run in a guest, and time zones, as one archive."""

from __future__ import annotations

import contextlib
import functools
import importlib.resources
import io
import zipfile
import zoneinfo
from pathlib import Path

__all__ = ["worker_archive"]

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = ("codec", "guest", "interpreter/plain", "text")
_MODULES = ("displays", "errors", "output", "results", "standard_library")
# The same bytes for the same sources: the snapshot is found by them.
_DATE = (1980, 1, 1, 0, 0, 0)


@functools.lru_cache(maxsize=1)
def worker_archive() -> bytes:
    """Make a zip archive, not compressed: reading it is all that a start waits for."""
    paths = [_PACKAGE / f"{name}.py" for name in _MODULES]
    paths += sorted((_PACKAGE / "interpreter").glob("*.py"))
    for folder in _FOLDERS:
        paths += sorted((_PACKAGE / folder).rglob("*.py"))
    paths.append(Path(__file__).with_name("wasm_worker.py"))
    files = {"smolagents_fork/__init__.py": b"", "smolagents_fork/wasm/__init__.py": b""}
    for path in paths:
        files[path.relative_to(_PACKAGE.parent).as_posix()] = path.read_bytes()
    files.update(_zone_files())
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return whole.getvalue()


def _zone_files() -> dict[str, bytes]:
    """Return this machine's time zones as the package ``tzdata``, where ``zoneinfo`` looks.

    Pyodide has none. Without any here, programs get the error of ``zoneinfo``.
    """
    zones = {}
    # "localtime" is this machine's own zone.
    for name in sorted(zoneinfo.available_timezones() - {"localtime"}):
        data = _zone_data(name)
        if data is not None:
            zones[name] = data
    if not zones:
        return {}
    files = {f"tzdata/zoneinfo/{name}": data for name, data in zones.items()}
    folders = {parent.as_posix() for path in files for parent in Path(path).parents}
    packages = {f"{folder}/__init__.py": b"" for folder in sorted(folders - {"."})}
    return {**packages, **files, "tzdata/zones": "\n".join(zones).encode() + b"\n"}


def _zone_data(name: str) -> bytes | None:
    for folder in zoneinfo.TZPATH:
        with contextlib.suppress(OSError):
            return Path(folder, name).read_bytes()
    with contextlib.suppress(OSError, ImportError):
        return importlib.resources.files("tzdata").joinpath(f"zoneinfo/{name}").read_bytes()
    return None

"""The modules of this package that run in a guest, as one archive."""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

__all__ = ["worker_archive"]

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = ("codec", "guest", "interpreter")
_MODULES = ("errors", "help", "hints", "open_figures", "output", "routed_places", "texts")
# The same bytes for the same sources: the snapshot is found by them.
_DATE = (1980, 1, 1, 0, 0, 0)


@functools.lru_cache(maxsize=1)
def worker_archive() -> bytes:
    """A zip archive, not compressed: reading it is all that a start waits for."""
    paths = [_PACKAGE / f"{name}.py" for name in _MODULES]
    for folder in _FOLDERS:
        paths += sorted((_PACKAGE / folder).rglob("*.py"))
    paths.append(Path(__file__).with_name("wasm_worker.py"))
    files = {"smolagents_fork/__init__.py": b"", "smolagents_fork/wasm/__init__.py": b""}
    for path in paths:
        files[path.relative_to(_PACKAGE.parent).as_posix()] = path.read_bytes()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return whole.getvalue()

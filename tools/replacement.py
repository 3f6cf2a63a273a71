"""Replace several files of the checkout as one: all of them or, after a crash, still all.

No file system renames a set of files at once. So old and new bytes are staged whole, and a single
rename decides. From then on the next command can finish the replacement or undo it, file by file;
a step that was done already is seen by the bytes that are there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from tools.errors import ToolError

__all__ = ["Replacement"]


class Replacement:
    """Files to be written and deleted below a folder.

    Args:
        root: the folder.
        staged: a folder for the bytes; on the same file system, and its caller's alone.
        reached: called with ``decided`` and, after each file, ``replaced``.
    """

    def __init__(
        self, root: Path, staged: Path, reached: Callable[[str], object] = lambda _: None
    ) -> None:
        self.root = root
        self.staged = staged
        self._reached = reached
        self._draft = staged / "journal.tmp"
        self._journal = staged / "journal.json"

    @property
    def is_decided(self) -> bool:
        """Tell whether the replacement has to be finished or undone."""
        return self._journal.is_file()

    def stage(self, files: Mapping[str, bytes | None]) -> None:
        """Keep the present bytes and the new ones; nothing of the root is touched.

        Args:
            files: new bytes by relative POSIX path; None deletes the file.

        Raises:
            OSError: no room or no permission.
        """
        self.remove()
        for name, data in files.items():
            parts = PurePosixPath(name).parts
            if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
                raise ValueError(f"{name!r}: expected a relative path without '..'")
            _write(self.staged / "old" / name, _read(self.root / name))
            _write(self.staged / "new" / name, data)
        _write(self._draft, json.dumps(sorted(files)).encode())

    def decide(self) -> None:
        """Make the staged replacement one that is carried out, and carry it out.

        Raises:
            ToolError: a file has changed since it was staged; nothing was touched.
        """
        for name in json.loads(self._draft.read_bytes()):
            if _read(self.root / name) != _read(self.staged / "old" / name):
                raise ToolError(f"{name} has been changed in the meantime; nothing was written")
        self._draft.replace(self._journal)
        _sync(self.staged)
        self._reached("decided")
        self.finish()

    def finish(self, source: str = "old", target: str = "new") -> None:
        """Bring every file to its new bytes.

        Raises:
            ToolError: a file has neither its old nor its new bytes; nothing was touched.
        """
        left: dict[str, bytes | None] = {}
        for name in json.loads(self._journal.read_bytes()):
            now, after = _read(self.root / name), _read(self.staged / target / name)
            if now not in (after, _read(self.staged / source / name)):
                raise ToolError(
                    f"{name}: changed while it was being replaced; put back one of the two "
                    f"versions in {self.staged} (old/ and new/), then try again"
                )
            if now != after:
                left[name] = after
        for name, data in left.items():
            path = self.root / name
            if data is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(self.staged / "draft", data)
                (self.staged / "draft").replace(path)
                _sync(path.parent)
            self._reached("replaced")

    def undo(self) -> None:
        """Bring every file back to its old bytes; errors as for :meth:`finish`."""
        self.finish("new", "old")

    def remove(self) -> None:
        """Forget it; the journal goes first, so that half a folder decides nothing."""
        self._journal.unlink(missing_ok=True)
        if self.staged.exists():
            shutil.rmtree(self.staged)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(path: Path, data: bytes | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data)
        _sync(path)


def _sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, survive the machine's end."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

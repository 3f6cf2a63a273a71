"""Files of a sandbox; relative paths begin at its work folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from ...results import FileInfo
from ...sandboxes.provisioner import Sandbox

__all__ = ["SandboxFiles"]


class SandboxFiles:
    """Files of one sandbox, as an executor's file store.

    Args:
        sandbox: running.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{self._absolute(path)} in sandbox {self._sandbox.id}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :meth:`.provisioner.Sandbox.write_file`."""
        self._sandbox.write_file(self._absolute(path), pieces, size)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :meth:`.provisioner.Sandbox.make_folder`."""
        self._sandbox.make_folder(self._absolute(path))

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :meth:`.provisioner.Sandbox.read_file`."""
        return self._sandbox.read_file(self._absolute(path), max_bytes)

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; those in the work folder get relative paths."""
        root = posixpath.join(self._sandbox.spec.workdir, "")
        found = self._sandbox.list_files(self._absolute(path))
        return [FileInfo(one.path.removeprefix(root), one.size) for one in found]

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._sandbox.spec.workdir, path))

"""Files of the local executor: a work folder of its own, and an ``open()`` that stays in it.

The code shares the host's process and its current folder, which may have the user's own files. So
the code gets another folder, and only files put there.
"""

from __future__ import annotations

import io
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ...errors import ConfigurationError, ExecutorError
from ...folders.removal import discard_tree
from ...folders.user_folder import temporary_folder
from ...folders.work_folder import SUPPORTED, WorkFolder
from ...system.forks import Owner
from ..file_transfers import GivenFiles, check_path

__all__ = ["LocalFiles"]


class LocalFiles:
    """The work folder of one executor: made when it is first used, removed with its owner."""

    def __init__(self, initial_files: GivenFiles) -> None:
        self._given = initial_files
        self._lock = threading.Lock()
        self._folder: WorkFolder | None = None
        self._remove: Callable[[], Any] = lambda: None

    def folder(self) -> WorkFolder:
        """Return the folder.

        Raises:
            ConfigurationError: the system cannot keep paths within a folder.
            ExecutorError: a file of ``files=`` could not be read or written.
        """
        with self._lock:
            if self._folder is None:
                if not SUPPORTED:
                    raise ConfigurationError(
                        "the local executor has no files on this system, which cannot confine "
                        "paths to a folder: use executor_type='docker'"
                    )
                path = temporary_folder("local-")
                self._remove = weakref.finalize(self, _remove_unless_inherited, path, Owner())
                folder = WorkFolder(path)
                try:
                    self._given.send(folder)
                except BaseException:
                    self._remove()
                    raise
                self._folder = folder
            return self._folder

    def remove(self) -> None:
        """Remove the folder; the next use makes another."""
        with self._lock:
            self._folder = None
            self._remove()

    def leave_to_parent(self) -> None:
        """Leave the folder to the process that made it; called in a forked copy of that process.

        The next use makes another, with the files that were given in the beginning.
        """
        self._lock = threading.Lock()  # a thread of the parent may have had it
        self._folder = None
        self._remove = lambda: None

    def opener(self) -> Callable[..., Any]:
        """Return the ``open()`` of programs."""

        def open(
            file: str | os.PathLike[str],
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
        ) -> Any:
            """Open a file of the work folder."""
            return io.open(  # noqa: UP020 - the name open is taken
                os.fspath(file), mode, buffering, encoding, errors, newline, opener=self._open
            )

        return open

    def _open(self, path: str, flags: int) -> int:
        try:
            return self.folder().descriptor(check_path("open", path), flags)
        except OSError as error:
            error.filename = path
            raise
        except (ConfigurationError, ExecutorError) as error:
            raise PermissionError(f"{path!r} cannot be opened: {error}") from None


def _remove_unless_inherited(path: str, owner: Owner) -> None:
    # At the exit of a fork of the owner, the folder is still in use.
    if not owner.inherited:
        discard_tree(path)

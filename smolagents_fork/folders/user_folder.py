"""The folder of this user in which everything temporary of the package lies.

The system's folder for temporary files belongs to everybody. Another user could make a file there
first, hold a lock on it, or put a link or a pipe in its place. So the package has one folder in it,
which only this user may enter, and everything else is in that one: locks, sockets, folders of
programs. Each process has a folder of its own in it, and a lock on that folder, which the kernel
takes away when the process ends, however it ends. The next process that needs one removes those
without a lock.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ..deadline import Deadline
from ..errors import ExecutorStartError
from ..system.forks import reset_in_child
from .removal import REMOVING, discard_tree, remove_behind

__all__ = [
    "abandoned_files",
    "check_private",
    "locked_file",
    "temporary_file",
    "temporary_folder",
    "user_folder",
]

_PROCESS, _LOCK = "process-", ".lock"
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _FLAGS
_FILE = os.O_RDWR | os.O_CREAT | _FLAGS
# Only other processes of this user can have the lock, for the moments of a look around.
_LOOK_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
_WHY = "the package's files must be where only this user can change them"
_OTHERS, _WRITES = 0o077, 0o022


def user_folder() -> str:
    """Return the user's own folder, without links in its path; it is made if it is not there.

    Raises:
        ExecutorStartError: it cannot be made, or is not the user's own.
    """
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    try:
        above = os.path.realpath(tempfile.gettempdir())
    except OSError as error:
        raise ExecutorStartError(f"{error.strerror}: set TMPDIR to a folder of your own") from None
    path = os.path.join(above, f"smolagents-fork{user}")
    with contextlib.suppress(FileExistsError), _explain_errors(path):
        os.mkdir(path, 0o700)
    check_private(path)
    return path


def check_private(path: str, *, readable: bool = False, option: str = "TMPDIR") -> None:
    """Refuse a folder that another user has made, may change, or has replaced by something else.

    Args:
        path: Path of the folder.
        readable: whether others may read it, and it may be root's.
        option: what names another folder, for the error.

    Raises:
        ExecutorStartError: it is not a folder of this user that only this user may enter.
    """
    if not hasattr(os, "getuid"):
        return
    with _explain_errors(path, option):
        status = os.lstat(path)
    mode, user = stat.S_IMODE(status.st_mode), os.geteuid()
    if not stat.S_ISDIR(status.st_mode):
        wrong = f"is not a folder (a {_kind(status.st_mode)} of user {status.st_uid})"
    elif status.st_uid != user and not (readable and status.st_uid == 0):
        wrong = f"belongs to user {status.st_uid}, and this process is user {user}"
    elif mode & (_WRITES if readable else _OTHERS):
        wrong = f"may be {'changed' if readable else 'entered'} by other users (mode {mode:o})"
    else:
        return
    raise ExecutorStartError(
        f"{path} {wrong}: {_WHY}; remove it, or set {option} to a folder of your own"
    )


def temporary_folder(prefix: str) -> str:
    """Make a folder that does not outlast this process for long.

    Raises:
        ExecutorStartError: it cannot be made.

    Example:
        >>> folder = temporary_folder("example-")
        >>> os.listdir(folder)
        []
        >>> os.rmdir(folder)
    """
    folder = _process.folder()
    with _explain_errors(folder):
        return tempfile.mkdtemp(prefix=prefix, dir=folder)


def temporary_file(prefix: str) -> tuple[int, str]:
    """Make a file that does not outlast this process for long; return its descriptor and path.

    Raises:
        ExecutorStartError: it cannot be made.
    """
    folder = _process.folder()
    with _explain_errors(folder):
        return tempfile.mkstemp(prefix=prefix, dir=folder)


@contextlib.contextmanager
def locked_file(
    name: str, deadline: Deadline, waiting: Callable[[], None] = lambda: None
) -> Iterator[int]:
    """Lock a file of the user's own folder, and give its descriptor; it is removed afterwards.

    No-op on Windows.

    Args:
        name: Name of the file.
        deadline: Deadline of the wait for another process.
        waiting: called once if there is a wait.

    Raises:
        TimeoutError: another process of this user has the lock.
        ExecutorStartError: the file is not one.
    """
    if sys.platform == "win32":  # pragma: no cover
        yield -1
        return
    path = os.path.join(user_folder(), name)
    while True:
        number = _open_file(path)
        try:
            with _explain_errors(path):
                _wait_for_lock(number, deadline, waiting)
            # Its last holder may have removed it meanwhile.
            if not _is_at(number, path):
                continue
            try:
                yield number
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            return
        finally:
            os.close(number)


def abandoned_files(prefix: str) -> Iterator[Path]:
    """Return files of :func:`locked_file` whose processes have ended.

    This process has the lock on each until the next is asked for.
    """
    if sys.platform == "win32":  # pragma: no cover
        return
    for path in Path(user_folder()).glob(f"{prefix}*"):
        number = _open_file(str(path))
        try:
            with contextlib.suppress(TimeoutError):
                _wait_for_lock(number, Deadline(0.0), lambda: None)
                if _is_at(number, str(path)):
                    yield path
        finally:
            os.close(number)


def _open_file(path: str) -> int:
    with _explain_errors(path):
        number = os.open(path, _FILE, 0o600)
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise ExecutorStartError(f"{path} is a {_kind(mode)}, and must be a file: remove it")
    return number


def _try_lock(number: int) -> bool:
    """Lock an open file or folder; return whether it was not locked before."""
    import fcntl  # not available on Windows, where this module is imported

    with contextlib.suppress(BlockingIOError):
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _wait_for_lock(number: int, deadline: Deadline, waiting: Callable[[], None]) -> None:
    waits = False
    while not _try_lock(number):
        if deadline.expired():
            raise TimeoutError
        if not waits:
            waiting()
            waits = True
        time.sleep(_PAUSE_SECONDS)


def _is_at(number: int, path: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(number), os.lstat(path))
    return False


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "link", stat.S_IFIFO: "pipe", stat.S_IFDIR: "folder"}
    return kinds.get(
        stat.S_IFMT(mode), "file of another kind" if not stat.S_ISREG(mode) else "file"
    )


@contextlib.contextmanager
def _explain_errors(path: str, option: str = "TMPDIR") -> Iterator[None]:
    try:
        yield
    except (FileExistsError, TimeoutError):
        raise
    except OSError as error:
        raise ExecutorStartError(
            f"{path} cannot be used: {os.strerror(error.errno or 0)}; set {option} to a folder of "
            "your own"
        ) from None


class _ProcessFolder:
    """The folder of this process in the user's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the user's folder, which another TMPDIR changes: the path and the lock.
        self._made: dict[str, tuple[str, int]] = {}

    def folder(self) -> str:
        """Return the folder; it is made when it is first asked for, or was removed by somebody."""
        with self._lock:
            above = user_folder()
            path, _ = self._made.get(above, ("", -1))
            if not os.path.isdir(path):
                path, _ = self._made[above] = _make_locked(above)
            return path

    def leave(self) -> None:
        """Give up the folder, and this process's part in its lock."""
        for _, number in self._made.values():
            if number >= 0:
                os.close(number)
        self._made.clear()

    def remove(self) -> None:
        """Remove the folder, and what is in it."""
        for path, _ in self._made.values():
            discard_tree(path)
        self.leave()


def _make_locked(above: str) -> tuple[str, int]:
    if sys.platform == "win32":  # pragma: no cover
        return tempfile.mkdtemp(prefix=_PROCESS, dir=above), -1
    with _looking(above):
        remove_behind(_set_abandoned_aside(above))
        path = tempfile.mkdtemp(prefix=_PROCESS, dir=above)
        number = os.open(path, _FOLDER)
        _try_lock(number)
        return path, number


@contextlib.contextmanager
def _looking(above: str) -> Iterator[None]:
    """Lock the user's folder: a folder that was made in it just now has no lock yet."""
    with _explain_errors(above):
        whole = os.open(above, _FOLDER)
    try:
        with _explain_errors(above):
            _wait_for_lock(whole, Deadline(_LOOK_SECONDS), lambda: None)
            yield
    except TimeoutError:
        raise ExecutorStartError(
            f"another process of this user has had a lock on {above} for {_LOOK_SECONDS:g} s: "
            "end it, or set TMPDIR to a folder of your own"
        ) from None
    finally:
        os.close(whole)


def _set_abandoned_aside(above: str) -> list[str]:
    """Rename the folders of processes that have ended; return all that are to be removed."""
    folders = []
    for name in os.listdir(above):
        path = os.path.join(above, name)
        if name.startswith(REMOVING):
            folders.append(path)
        elif name.endswith(_LOCK):
            for file in abandoned_files(name):
                file.unlink()
        elif name.startswith(_PROCESS):
            with contextlib.suppress(OSError):
                number = os.open(path, _FOLDER)
                try:
                    if _try_lock(number):
                        aside = os.path.join(above, f"{REMOVING}{name.removeprefix(_PROCESS)}")
                        os.rename(path, aside)
                        folders.append(aside)
                finally:
                    os.close(number)
    return folders


_process = _ProcessFolder()


@atexit.register
def _at_exit() -> None:
    _process.remove()


@reset_in_child
def _after_fork() -> None:
    """Leave the folder to the process that made it; the lock ends with that process."""
    global _process
    _process.leave()
    _process = _ProcessFolder()

"""Counts that the kernel keeps for all processes of a user: children leave their host its share.

- Where the kernel compares the user's count with a limit of the *caller*, a child's limit is lower
  than its host's (:func:`lower_shared_limits`): threads and processes, pending signals, and
  descriptors in flight (:mod:`...system.descriptor_passing`).
- Where it compares the count with a setting of the system, or the count is that of a control group,
  the fork server decides for each child (:class:`UserCounts`): watches of epoll, pages of pipes,
  tasks of a container or of a user's slice.
- The filter refuses what no ordinary program needs (:mod:`.syscalls`): keys, message queues,
  inotify, timers, locked memory, io_uring, larger pipes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
from collections import Counter

from .capabilities import without_capabilities
from .control_groups import control_group_folders

__all__ = ["UserCounts", "lower_limit", "lower_shared_limits"]

_SIGNALS = 128
# Part of fs.epoll.max_user_watches that the children of one fork server may have.
_WATCH_SHARE = 8
# Part of fs.pipe-user-pages-soft that children leave to all other processes of the user.
_PIPE_SHARE = 4
# Pipes that each child may have made before the pages left are looked at.
_FIRST_PIPES = 4
_F_SETPIPE_SZ = 1031  # include/uapi/linux/fcntl.h
_PAGE = resource.getpagesize()


def lower_shared_limits() -> None:
    """Lower the limits of this process that the kernel compares with counts of the user.

    Before it enters a user namespace, which has the limits of its maker.
    """
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY:
        lower_limit(resource.RLIMIT_NPROC, _children_share(processes))
    lower_limit(resource.RLIMIT_SIGPENDING, _SIGNALS)
    lower_limit(resource.RLIMIT_MSGQUEUE, 0)
    lower_limit(resource.RLIMIT_MEMLOCK, 0)


def lower_limit(kind: int, most: int) -> int:
    """Lower a limit of this process, irrevocably; return what it is now.

    Args:
        kind: Kind as in ``resource.RLIMIT_AS``.
        most: the new limit, unless the present one is lower.
    """
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))
    return most


class UserCounts:
    """Counts of the user that grow by the children of one fork server."""

    def __init__(self) -> None:
        self.watches = WatchShare()
        self.pipes = PipeShare()
        self.tasks = TaskShare()

    def forget(self, pid: int) -> None:
        """Forget a child that has ended, with which the kernel removes what it had."""
        self.watches.forget(pid)
        self.pipes.forget(pid)


class WatchShare:
    """Watches of epoll (fs.epoll.max_user_watches).

    Nobody but the kernel knows when a watch ends, so all that a child ever adds count. A child may
    have as many as are left for the others: one alone gets half of the share, two a third each.
    """

    def __init__(self) -> None:
        self._most = _setting("/proc/sys/fs/epoll/max_user_watches") // _WATCH_SHARE
        self._added: Counter[int] = Counter()

    def add(self, pid: int) -> int:
        """Count a watch of a child; return the error to refuse it with, or 0."""
        if self._added[pid] >= self._most - self._added.total():
            return errno.ENOSPC
        self._added[pid] += 1
        return 0

    def forget(self, pid: int) -> None:
        """Forget a child."""
        self._added.pop(pid, None)


class PipeShare:
    """Pages of pipes (fs.pipe-user-pages-soft), past which new pipes of the user are small.

    Only the kernel knows how many there are. It lets a pipe grow while they are fewer, so the fork
    server tries that with pipes of its own before it allows one of a child.
    """

    def __init__(self) -> None:
        soft = _setting("/proc/sys/fs/pipe-user-pages-soft")
        self._largest = _setting("/proc/sys/fs/pipe-max-size")
        count = soft * _PAGE // _PIPE_SHARE // max(self._largest, _PAGE)
        self._probes = [_one_end_of_a_pipe() for _ in range(count)]
        self._made: Counter[int] = Counter()
        self._resize(_PAGE)

    def add(self, pid: int) -> int:
        """Count a pipe of a child; return the error to refuse it with, or 0."""
        if self._made[pid] >= _FIRST_PIPES and not self._are_left():
            return errno.ENFILE
        self._made[pid] += 1
        return 0

    def forget(self, pid: int) -> None:
        """Forget a child."""
        self._made.pop(pid, None)

    def _are_left(self) -> bool:
        try:
            with without_capabilities():  # who has them may exceed the setting
                self._resize(self._largest)
        except OSError:
            return False
        finally:
            self._resize(_PAGE)
        return True

    def _resize(self, size: int) -> None:
        for probe in self._probes:
            fcntl.fcntl(probe, _F_SETPIPE_SZ, size)


class TaskShare:
    """Threads and processes of this process's control groups (pids.max), root's included."""

    def __init__(self) -> None:
        folders: set[str] = set()
        for folder in control_group_folders():
            while folder not in folders and len(folder) > 1:
                folders.add(folder)
                folder = os.path.dirname(folder)
        self._limited = [folder for folder in folders if _setting(f"{folder}/pids.max")]

    def are_left(self) -> bool:
        """Return whether children may have another thread."""
        return all(
            _setting(f"{folder}/pids.current") < _children_share(_setting(f"{folder}/pids.max"))
            for folder in self._limited
        )


def _children_share(tasks: int) -> int:
    return tasks * 3 // 4


def _one_end_of_a_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def _setting(path: str) -> int:
    """Return a setting of the system; 0 if there is none."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
        return int(file.read())
    return 0

"""System calls of a child that its parent decides about.

The filter makes the kernel ask the parent before a thread, a pipe or a watch of epoll is made
(SECCOMP_RET_USER_NOTIF, Linux 5.5). The arguments that the filter looks at are in registers, so the
child cannot change them after the check. Source: include/uapi/linux/seccomp.h.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Callable

from ...system.descriptor_passing import send_descriptors
from ...system.proc_table import thread_count
from .syscalls import MACHINES
from .user_counts import UserCounts

__all__ = ["CallSupervisor", "give_listener"]

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_REQUEST_SIZE = 80  # struct seccomp_notif: id, pid, flags, seccomp_data
_REQUEST = struct.Struct("=QIIi")  # its beginning, to the number of the call
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE


class CallSupervisor:
    """Parent side of a child's filter.

    Args:
        listener: descriptor of the filter; closed by :meth:`close`.
        pid: process number of the child.
        threads: largest number of its threads at once.
        counts: what the children have of their user's counts.
    """

    def __init__(self, listener: int, pid: int, threads: int, counts: UserCounts) -> None:
        self._listener = listener
        self.pid = pid
        self._threads = threads
        self._counts = counts
        numbers = MACHINES[platform.machine()].numbers
        # Number of a call -> returns the error to refuse it with, or 0.
        self._verdicts: dict[int, Callable[[], int]] = {
            numbers[name]: verdict
            for name, verdict in (
                ("clone", self._thread),
                ("epoll_ctl", lambda: counts.watches.add(pid)),
                ("pipe", lambda: counts.pipes.add(pid)),
                ("pipe2", lambda: counts.pipes.add(pid)),
            )
            if name in numbers
        }

    def fileno(self) -> int:
        """Return the descriptor to poll."""
        return self._listener

    def answer(self) -> None:
        """Answer the pending request, unless it was withdrawn or the child has ended."""
        request = bytearray(_REQUEST_SIZE)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, request)
        except OSError:
            return
        request_id, _, _, number = _REQUEST.unpack_from(request)
        error = self._verdicts.get(number, lambda: errno.EPERM)()
        answer = _ANSWER.pack(request_id, 0, -error, 0 if error else _CONTINUE)
        with contextlib.suppress(OSError):  # a signal withdrew the request
            fcntl.ioctl(self._listener, _SEND, answer)

    def close(self) -> None:
        """Close the listener of a child that has ended."""
        self._counts.forget(self.pid)
        os.close(self._listener)

    def _thread(self) -> int:
        """Count the child's own threads: RLIMIT_NPROC counts the user's, and none of root's."""
        if not self._counts.tasks.are_left():
            return errno.EAGAIN
        threads = thread_count(self.pid)
        # Without a count, refuse more threads.
        return errno.EAGAIN if threads is None or threads >= self._threads else 0


def give_listener(channel: socket.socket, listener: int) -> None:
    """Send the listener to the parent and close it here, since it can allow any call."""
    try:
        send_descriptors(channel, b"L", [listener])
    finally:
        os.close(listener)

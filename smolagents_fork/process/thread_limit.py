"""A limit on the threads of a process, kept by the process that has forked it.

RLIMIT_NPROC counts all of a user's processes, and none of root's. Here the filter has the kernel
ask the parent about each new thread (SECCOMP_RET_USER_NOTIF, Linux 5.5). A thread's flags are in
registers, so what was asked about is what is made. Source: include/uapi/linux/seccomp.h.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct

__all__ = ["ThreadLimit", "give_listener", "take_listener"]

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_REQUEST_SIZE = 80  # struct seccomp_notif: id, pid, flags, seccomp_data
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE


class ThreadLimit:
    """The parent's answers to a child that makes threads.

    Args:
        listener: the descriptor of the child's filter; closed by :meth:`close`.
        pid: the child.
        most: threads at once.
    """

    def __init__(self, listener: int, pid: int, most: int) -> None:
        self._listener = listener
        self.pid = pid
        self._most = most

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._listener

    def answer(self) -> None:
        """Answer the request that is there, unless it was taken back or the child has ended."""
        import fcntl

        request = bytearray(_REQUEST_SIZE)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, request)
        except OSError:
            return
        (number,) = struct.unpack_from("=Q", request)
        if self._threads() < self._most:
            answer = _ANSWER.pack(number, 0, 0, _CONTINUE)
        else:
            answer = _ANSWER.pack(number, 0, -errno.EAGAIN, 0)
        with contextlib.suppress(OSError):  # a signal has taken the request back
            fcntl.ioctl(self._listener, _SEND, answer)

    def close(self) -> None:
        """Let go of the listener."""
        os.close(self._listener)

    def _threads(self) -> int:
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                return int(file.read().rpartition(")")[2].split()[17])
        except OSError:
            return self._most  # without a count, no more of them


def give_listener(channel: socket.socket, listener: int) -> None:
    """Send the listener to the parent, and keep none: who has it may allow anything."""
    try:
        socket.send_fds(channel, [b"L"], [listener])
    finally:
        os.close(listener)


def take_listener(channel: socket.socket) -> int | None:
    """The listener that the child has sent, if it has."""
    try:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return None
    return descriptors[0] if descriptors else None

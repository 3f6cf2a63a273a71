"""Limit on the threads of a process, enforced by its parent.

RLIMIT_NPROC counts all processes of a user, and none of root's. Instead, the filter makes the
kernel ask the parent about each new thread (SECCOMP_RET_USER_NOTIF, Linux 5.5). The flags are in
registers, so the child cannot change them after the check. Source: include/uapi/linux/seccomp.h.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct

from .descriptor_passing import send_descriptors

__all__ = ["ThreadLimit", "give_listener", "take_listener"]

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_REQUEST_SIZE = 80  # struct seccomp_notif: id, pid, flags, seccomp_data
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE


class ThreadLimit:
    """Parent side of the limit on a child's threads.

    Args:
        listener: descriptor of the child's filter; closed by :meth:`close`.
        pid: process number of the child.
        most: largest number of threads at once.
    """

    def __init__(self, listener: int, pid: int, most: int) -> None:
        self._listener = listener
        self.pid = pid
        self._most = most

    def fileno(self) -> int:
        """Return the descriptor to poll."""
        return self._listener

    def answer(self) -> None:
        """Answer the pending request, unless it was withdrawn or the child has ended."""
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
        with contextlib.suppress(OSError):  # a signal withdrew the request
            fcntl.ioctl(self._listener, _SEND, answer)

    def close(self) -> None:
        """Close the listener."""
        os.close(self._listener)

    def _threads(self) -> int:
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                return int(file.read().rpartition(")")[2].split()[17])
        except OSError:
            return self._most  # without a count, refuse more threads


def give_listener(channel: socket.socket, listener: int) -> None:
    """Send the listener to the parent and close it here, since it can allow any call."""
    try:
        send_descriptors(channel, b"L", [listener])
    finally:
        os.close(listener)


def take_listener(channel: socket.socket) -> int | None:
    """Receive the listener from the child, if it was sent."""
    try:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return None
    return descriptors[0] if descriptors else None

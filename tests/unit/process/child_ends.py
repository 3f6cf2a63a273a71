"""A child without a process: the other ends of its connections are the test's."""

from __future__ import annotations

import os
import socket

from smolagents_fork.guest.frames import from_guest
from smolagents_fork.process.child import Child

__all__ = ["ChildEnds"]


class ChildEnds:
    """Both ends of a child's connections.

    Args:
        longest: Length in bytes of the longest frame.
        pid: Number of the process that the child is taken for.
        cpu_seconds: Limit of processor time; ``None`` for no limit.
    """

    def __init__(self, longest: int, pid: int = 0, cpu_seconds: float | None = None) -> None:
        ours, self.data = socket.socketpair()
        status, self.status = socket.socketpair()
        stops, self.stops = socket.socketpair()
        output, self.output = os.pipe()
        self.kinds = from_guest(longest, longest)
        self.child = Child(pid, ours, status, stops, output, self.kinds, cpu_seconds)

    def close(self) -> None:
        """Close all of them."""
        self.child.close()
        for end in (self.data, self.status, self.stops):
            end.close()
        os.close(self.output)

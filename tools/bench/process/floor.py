"""The floors of the process executor: fork, a pipe's round trip, a copy into shared memory.

Run as ``python floor.py``: a process without threads, which may fork. Prints ``ready``, and answers
``fork``, ``pipe`` and ``copy BYTES`` with seconds. Standard library only.
"""

from __future__ import annotations

import mmap
import os
import sys
import time

__all__ = ["main"]


def time_fork() -> float:
    """Seconds until a forked child has written a byte to a pipe."""
    reading, writing = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.write(writing, b"1")
        os._exit(0)
    os.read(reading, 1)
    seconds = time.perf_counter() - began
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    return seconds


class Pipes:
    """A child that returns each byte, on two pipes."""

    def __init__(self) -> None:
        theirs, self._into = os.pipe()
        self._out, answers = os.pipe()
        if os.fork() == 0:
            os.close(self._into)
            while data := os.read(theirs, 1):
                os.write(answers, data)
            os._exit(0)
        os.close(theirs)
        os.close(answers)

    def round_trip(self) -> float:
        """Seconds for a byte there and back."""
        began = time.perf_counter()
        os.write(self._into, b"1")
        os.read(self._out, 1)
        return time.perf_counter() - began


class Memory:
    """Memory that is shared with other processes, and bytes to copy into it.

    Args:
        size: in bytes.
    """

    def __init__(self, size: int) -> None:
        self._data, self._shared = os.urandom(size), mmap.mmap(-1, size)
        self.copy()  # its pages are made by the first one

    def copy(self) -> float:
        """Seconds for one copy."""
        began = time.perf_counter()
        self._shared[:] = self._data
        return time.perf_counter() - began


def main() -> None:
    """Answer until the input ends."""
    pipes, memory = Pipes(), dict[int, Memory]()
    print("ready", flush=True)
    for line in sys.stdin:
        what, _, size = line.strip().partition(" ")
        if what == "fork":
            seconds = time_fork()
        elif what == "pipe":
            seconds = pipes.round_trip()
        else:
            if int(size) not in memory:
                memory[int(size)] = Memory(int(size))
            seconds = memory[int(size)].copy()
        print(seconds, flush=True)


if __name__ == "__main__":
    main()

"""Conversation with a sandbox's first process, over its own input and output.

The first process is another process than the kernel, so it answers while C code in the kernel keeps
Python's lock. Each message is a line. To it: an empty line, which renews the lease, and
``interrupt NUMBER`` or ``state NUMBER``. From it: ``answer NUMBER STATE``, with the letter that
``proc(5)`` has for the main process's state, ``unreachable REASON`` where it could not connect the
main process to the host, and ``end CODE OUT_OF_MEMORY``. Its lines begin with :data:`MARK`, which
keeps them apart where an engine's log mixes both outputs.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["MARK", "RENEWAL", "FirstProcess", "HasFirstProcess", "MainEnd"]

#: Begins a line of the first process.
MARK = "\x1e"
#: Renews the lease.
RENEWAL = b"\n"
# Bytes of a line that has no end yet; those of the first process are shorter.
_LONGEST_LINE = 1024
_NUMBER = re.compile("-?[0-9]{1,18}")


@dataclass(frozen=True)
class MainEnd:
    """The end of a sandbox's main process.

    Attributes:
        exit_code: as a shell has it: 128 and the number of the signal that ended it.
        out_of_memory: whether the system killed it for lack of memory.
    """

    exit_code: int
    out_of_memory: bool


class FirstProcess:
    """The first process of one sandbox. From any thread.

    Args:
        send: sends bytes to it soon, without waiting.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._changed = threading.Condition()
        self._line = b""
        self._asked = self._answered = 0
        #: Whether a connection to it is open.
        self.connected = True
        #: Monotonic time of its last line.
        self.heard_at = time.monotonic()
        #: Reason for which it could not connect the main process to the host; empty without one.
        self.unreachable = ""
        #: The end of the main process, when it has ended.
        self.end: MainEnd | None = None

    def interrupt(self) -> bool:
        """Interrupt the main process and those of its group, as Ctrl-C does.

        Returns:
            whether there is a connection that the request could be sent over.
        """
        return self._ask("interrupt")

    def ask(self) -> bool:
        """Ask for an answer, which :attr:`heard_at` notes; see :meth:`interrupt`."""
        return self._ask("state")

    def _ask(self, request: str) -> bool:
        with self._changed:
            if not self.connected:
                return False
            self._asked += 1
            number = self._asked
        self._send(f"{request} {number}\n".encode())
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until all requests have been answered, or lost; return whether they have.

        Args:
            seconds: to wait at most.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._answered >= self._asked, seconds)

    def reconnect(self, connected: bool) -> None:
        """Note that the connection was lost, or is there again; requests are lost with it."""
        with self._changed:
            self.connected, self._line = connected, b""
            self._answered = self._asked
            self._changed.notify_all()

    def feed(self, data: bytes) -> None:
        """Take bytes of its output, cut anywhere."""
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text.startswith(MARK):
                self._take(*text[len(MARK) :].partition(" ")[::2])

    def _take(self, kind: str, text: str) -> None:
        words = text.split()
        with self._changed:
            self.heard_at = time.monotonic()
            if kind == "unreachable":
                self.unreachable = text or "unknown"
            elif kind == "answer" and words and _NUMBER.fullmatch(words[0]):
                self._answered = max(self._answered, min(int(words[0]), self._asked))
            elif kind == "end" and len(words) == 2 and _NUMBER.fullmatch(words[0]):
                code = int(words[0])
                self.end = MainEnd(code if code >= 0 else 128 - code, words[1] == "1")
            self._changed.notify_all()


@runtime_checkable
class HasFirstProcess(Protocol):
    """A sandbox whose first process can be spoken to: an optional capability of an engine."""

    @property
    def first_process(self) -> FirstProcess | None:
        """Its first process; ``None`` where no connection to it can be had."""

"""Conversation with a sandbox's first process, over its own input and output.

The first process is another process than the kernel, so it answers while C code in the kernel holds
the GIL. Each message is a line, and each to it renews the lease: ``interrupt NUMBER``,
``state NUMBER``, ``usage NUMBER``, and ``end``, the clean end. A connection that only breaks ends
nothing before the lease does, because its host process may be there and opens another. From it:
``answer NUMBER STATE``, with the letter that ``proc(5)`` has for the main process's state, and with
the figures of :meth:`FirstProcess.usage` if requested, ``unreachable REASON`` where it
could not connect the main process to the host, and ``end CODE OUT_OF_MEMORY``. Its lines begin with
:data:`MARK`, which keeps them apart where an engine's log mixes both outputs.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["END", "MARK", "FirstProcess", "HasFirstProcess", "MainEnd"]

#: Begins a line of the first process.
MARK = "\x1e"
#: Ends the sandbox at once, because its host process needs it no longer.
END = b"end\n"
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
        send: sends bytes to it soon, without waiting; never after :meth:`reconnect` has noted a
            loss.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._changed = threading.Condition()
        self._line = b""
        self._asked = self._answered = 0
        self._usage_lock = threading.Lock()
        self._usage: tuple[int, float, int] | None = None
        self._waiting_since: float | None = None
        #: Whether a connection to it is open.
        self.connected = True
        #: Connections to it that have been opened so far.
        self.links = 1
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

    def usage(self, seconds: float) -> tuple[int, float, int] | None:
        """Return what the sandbox uses now, as its control group counts it.

        Args:
            seconds: to wait at most.

        Returns:
            memory without cached files in bytes, processor time in seconds, and processes; ``None``
            if it did not answer, or is of a version that has no figures.
        """
        with self._usage_lock:
            self._usage = None
            return self._usage if self._ask("usage") and self.wait(seconds) else None

    def _ask(self, request: str) -> bool:
        with self._changed:
            if not self.connected:
                return False
            self._asked += 1
            self._waiting_since = self._waiting_since or time.monotonic()
            # Under the lock: a request that was lost with its connection must not reach the next.
            self._send(f"{request} {self._asked}\n".encode())
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until all requests have been answered, or lost; return whether they have.

        Args:
            seconds: to wait at most.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._answered >= self._asked, seconds)

    @property
    def silent_seconds(self) -> float:
        """Seconds for which requests have waited for the next answer; 0 without a request.

        A connection that may be cut without a word is opened again after some seconds.
        """
        since = self._waiting_since
        return 0.0 if since is None else time.monotonic() - since

    def reconnect(self, connected: bool) -> None:
        """Note that the connection was lost, or is there again; requests are lost with it."""
        with self._changed:
            self.connected, self._line = connected, b""
            self.links += connected
            self._answered, self._waiting_since = self._asked, None
            self._changed.notify_all()

    def feed(self, data: bytes) -> None:
        """Take bytes of its output, cut anywhere."""
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text.startswith(MARK):
                self._take(*text[len(MARK) :].partition(" ")[::2])

    def _take(self, message_type: str, text: str) -> None:
        words = text.split()
        with self._changed:
            self.heard_at = time.monotonic()
            if message_type == "unreachable":
                self.unreachable = text or "unknown"
            elif message_type == "answer" and words and _NUMBER.fullmatch(words[0]):
                figures = words[2:]
                if len(figures) == 3 and all(map(_NUMBER.fullmatch, figures)):
                    memory, microseconds, count = (max(0, int(figure)) for figure in figures)
                    self._usage = (memory, microseconds / 1e6, count)
                self._answered = max(self._answered, min(int(words[0]), self._asked))
                all_answered = self._answered == self._asked
                self._waiting_since = None if all_answered else self.heard_at
            elif message_type == "end" and len(words) == 2 and _NUMBER.fullmatch(words[0]):
                code = int(words[0])
                self.end = MainEnd(code if code >= 0 else 128 - code, words[1] == "1")
            self._changed.notify_all()


@runtime_checkable
class HasFirstProcess(Protocol):
    """A sandbox whose first process can be spoken to: an optional capability of an engine.

    The engine has a connection to the first process's input and output, and renews the lease over
    it by :meth:`FirstProcess.ask`, several times in each. When it is lost, or
    :attr:`FirstProcess.silent_seconds` says that it may be, the engine opens another within the
    lease, and calls :meth:`FirstProcess.reconnect`. It sends :data:`END` when the sandbox is
    removed.
    """

    @property
    def first_process(self) -> FirstProcess | None:
        """Its first process; ``None`` if it cannot be reached."""

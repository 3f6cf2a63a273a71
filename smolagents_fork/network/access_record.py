"""Record of what the proxy refused and moved during one call of a sandbox."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .hosts.host_policy import HostRefusedError

__all__ = ["AccessRecord"]

# Different refusals that a call keeps: a program can have any number of them.
_MOST_REFUSALS = 10


class AccessRecord:
    """Refusals and bytes of the present call; any thread may use it.

    Args:
        most_bytes: Bytes in both directions of one call; ``None`` for no limit.
        owner: Class of the executor, for messages.
        on_event: Called with event (``"connection"``, ``"secret"``), phase (``"begin"``, ``"end"``,
            ``"refused"``) and facts, from other threads than the proxy's, with the context
            variables of the call; what it raises refuses the connection, or the secret.

    Example:
        >>> record = AccessRecord(most_bytes=10, owner="DockerExecutor")
        >>> record.refuse("host 'evil.example' is not in allowed_hosts")
        >>> print(record.text)
        <BLANKLINE>
        Refused by the network proxy: host 'evil.example' is not in allowed_hosts
    """

    def __init__(
        self,
        most_bytes: int | None,
        owner: str,
        on_event: Callable[[str, str, Mapping[str, Any]], None] | None = None,
    ) -> None:
        self._most_bytes = most_bytes
        self._owner = owner
        self._on_event = on_event
        self._lock = threading.Lock()
        self._refusals: dict[str, None] = {}
        self._left_out = 0
        self._bytes = 0
        self._context = contextvars.copy_context()

    def begin_call(self) -> None:
        """Forget the call before; the events that follow belong to the one that runs here."""
        self._context = contextvars.copy_context()
        with self._lock:
            self._refusals, self._left_out, self._bytes = {}, 0, 0

    async def report(self, event: str, phase: str, **facts: Any) -> None:
        """Report a connection, or the use of a secret.

        Raises:
            HostRefusedError: it could not be recorded.
        """
        if self._on_event is None:
            return
        try:
            # A copy: several threads may report at once.
            report = self._context.copy().run
            if threading.main_thread().is_alive():
                await asyncio.to_thread(report, self._on_event, event, phase, facts)
            else:  # this process ends: it has no further threads, and nothing to delay
                report(self._on_event, event, phase, facts)
        except Exception as error:
            # The code reads this text, and the error may quote a path or a password of the host.
            raise HostRefusedError(f"the {event} could not be recorded") from error

    def refuse(self, message: str) -> None:
        """Note a refusal."""
        with self._lock:
            if message in self._refusals:
                return
            if len(self._refusals) < _MOST_REFUSALS:
                self._refusals[message] = None
            else:
                self._left_out += 1

    def count(self, size: int) -> None:
        """Add bytes that were received.

        Raises:
            HostRefusedError: the call has moved more than it may.
        """
        with self._lock:
            self._bytes += size
            over = self._most_bytes is not None and self._bytes > self._most_bytes
        if over:
            raise HostRefusedError(
                f"this call has moved more than max_network_bytes={self._most_bytes} of this "
                f"{self._owner}"
            )

    @property
    def text(self) -> str:
        """Lines about what was refused, for the error of the call; empty if nothing was."""
        with self._lock:
            lines = [f"\nRefused by the network proxy: {message}" for message in self._refusals]
            if self._left_out:
                lines.append(f"\nRefused by the network proxy: {self._left_out} more")
        return "".join(lines)

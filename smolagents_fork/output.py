"""Printed output of a program, kept up to a limit: head and tail."""

from __future__ import annotations

from threading import Lock

__all__ = ["PrintContainer", "truncated"]


def truncated(content: str, max_length: int) -> str:
    """Truncate ``content`` to its first and last half of ``max_length``, with upstream's note."""
    if len(content) <= max_length:
        return content
    half = max_length // 2
    note = f"\n..._This content has been truncated to stay below {max_length} characters_...\n"
    return content[:half] + note + content[len(content) - half :]


class PrintContainer:
    """Text that a program printed, with upstream's interface (``value``, ``append``, ``+=``).

    Endless output must not fill the host's memory, so only the first and the last part are kept.
    """

    def __init__(self, keep: int = 50_000) -> None:
        self._keep = keep
        self._head = ""
        self._parts: list[str] = []
        self._size = 0
        self._cut = False
        self._lock = Lock()

    def append(self, text: str) -> PrintContainer:
        with self._lock:  # threads may print, too
            self._parts.append(text)
            self._size += len(text)
            if self._size > 4 * self._keep + 4096:
                self._join()
        return self

    def __iadd__(self, other: object) -> PrintContainer:
        return self.append(str(other))

    def _join(self) -> None:
        text = "".join(self._parts)
        if not self._cut and self._size > 2 * self._keep + 2:
            self._head = text[: self._keep]
            text = text[self._keep :]
            self._cut = True
        if self._cut:
            text = text[-self._keep - 1 :]
        self._parts = [text]
        self._size = len(text)

    @property
    def value(self) -> str:
        """All text kept, as one string."""
        return self._head + "".join(self._parts)

    @value.setter
    def value(self, text: str) -> None:
        self._head, self._cut = "", False
        self._parts, self._size = [text], len(text)

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"PrintContainer({self.value})"

    def __len__(self) -> int:
        return len(self.value)

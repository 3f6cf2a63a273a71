"""The program's own standard streams and arguments.

What a library prints for a program is the program's output, and what it reads is not the host's.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .... import routed_places
from ....forks import ForkSafeLock
from ....routed_places import ProgramPlaces, routes

__all__ = ["OutputStream", "StandardStreams"]


class OutputStream:
    """A stream that a program may write to.

    Args:
        name: what the stream is called.
        write: takes what is written.
    """

    encoding = "utf-8"
    errors = "strict"
    closed = False

    def __init__(self, name: str, write: Callable[[str], Any]) -> None:
        self.name = name
        self._write = write
        self._targets: list[Any] = []

    def write(self, text: str, /) -> int:
        """Write ``text``, to the newest redirection if there is one."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._targets:
            self._targets[-1].write(text)
        else:
            self._write(text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def isatty(self) -> bool:
        """Tell that this is not a terminal."""
        return False

    def writable(self) -> bool:
        """Tell that this can be written to."""
        return True

    def forget_targets(self) -> None:
        """Undo redirections that a run left behind."""
        self._targets.clear()

    def redirected(self, target: Any) -> _Redirection:
        """Stand for ``contextlib.redirect_stdout``, of the program's own output."""
        return _Redirection(self._targets, target)

    def __repr__(self) -> str:
        return f"<stream {self.name}>"


class _Redirection:
    def __init__(self, targets: list[Any], target: Any) -> None:
        self._targets = targets
        self._target = target

    def __enter__(self) -> Any:
        self._targets.append(self._target)
        return self._target

    def __exit__(self, *_error: Any) -> None:
        if self._targets:
            self._targets.pop()


_lock = ForkSafeLock()
_users = 0


class StandardStreams:
    """The streams of one interpreter's programs, and the routes to them.

    Args:
        write: takes what is written.
        variables: of the program.
    """

    def __init__(self, write: Callable[[str], Any], variables: dict[str, Any]) -> None:
        self.variables = variables
        self.argv = [""]
        self.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        self.stdout = OutputStream("<stdout>", write)
        self.stderr = OutputStream("<stderr>", write)

    @contextmanager
    def routed(self) -> Iterator[None]:
        """Let libraries find this in the process's places, in the thread of a run."""
        global _users
        with _lock:
            if _users == 0:
                routed_places.install()
            _users += 1
        try:
            with self.routed_thread():
                yield
        finally:
            with _lock:
                _users -= 1
                if _users == 0:
                    routed_places.restore()

    @contextmanager
    def routed_thread(self) -> Iterator[None]:
        """Let libraries find this in this thread, while a run is going on."""
        ident = threading.get_ident()
        before = routes.get(ident)
        routes[ident] = self
        try:
            yield
        finally:
            _restore(ident, before)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Let this thread write to the host's streams: a tool works."""
        ident = threading.get_ident()
        before = routes.pop(ident, None)
        try:
            yield
        finally:
            _restore(ident, before)


def _restore(ident: int, before: ProgramPlaces | None) -> None:
    if before is None:
        routes.pop(ident, None)
    else:
        routes[ident] = before

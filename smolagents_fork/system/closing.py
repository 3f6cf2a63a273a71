"""Connections and processes that are closed where the block that was to hand them on fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

__all__ = ["close_on_error"]


class _Closable(Protocol):
    def close(self) -> object: ...


@contextlib.contextmanager
def close_on_error(*resources: _Closable) -> Iterator[None]:
    """Close resources if the block raises, also at an interrupt; else leave them open.

    Args:
        *resources: Sockets, or other objects with ``close()``.

    Example:
        >>> import io
        >>> file = io.StringIO()
        >>> with close_on_error(file):
        ...     count = file.write("text")
        >>> file.closed
        False
    """
    with contextlib.ExitStack() as open_resources:
        for resource in resources:
            open_resources.callback(resource.close)
        yield
        open_resources.pop_all()

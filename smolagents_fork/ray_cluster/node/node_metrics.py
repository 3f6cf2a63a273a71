"""Times of a supervisor's work, as histograms of Ray's metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["NodeMetrics"]

_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]


class NodeMetrics:
    """Histograms ``smolagents_fork_start_seconds``, ``_call_seconds`` and ``_stream_seconds``.

    Args:
        node: id of the node, a tag of each.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._histograms: dict[str, Any] = {}
        try:
            from ray.util.metrics import Histogram
        except ImportError:
            return
        for name in ("start", "call", "stream"):
            self._histograms[name] = Histogram(
                f"smolagents_fork_{name}_seconds",
                description=f"Time of a {name} of a sandbox, in seconds.",
                boundaries=_BOUNDARIES,
                tag_keys=("node", "tenant"),
            )

    @contextlib.contextmanager
    def timed(self, name: str, tenant: str) -> Iterator[None]:
        """Record the time of the block.

        Args:
            name: ``start``, ``call`` or ``stream``.
            tenant: empty for none.
        """
        begun = time.monotonic()
        try:
            yield
        finally:
            histogram = self._histograms.get(name)
            if histogram is not None:
                tags = {"node": self._node, "tenant": tenant}
                histogram.observe(time.monotonic() - begun, tags)

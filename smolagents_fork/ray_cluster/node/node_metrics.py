"""Times of starts, waits and calls, as histograms of Ray's metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["NodeMetrics"]

_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]


class NodeMetrics:
    """Histograms ``smolagents_fork_<name>_seconds`` of this process.

    Args:
        node: id of the node, a tag of each; empty in the helper process.
        *names: such as ``start``.
    """

    def __init__(self, node: str, *names: str) -> None:
        self._node = node
        self._histograms: dict[str, Any] = {}
        try:
            from ray.util.metrics import Histogram
        except ImportError:
            return
        for name in names:
            self._histograms[name] = Histogram(
                f"smolagents_fork_{name}_seconds",
                description=f"Time of a {name} of a sandbox, in seconds.",
                boundaries=_BOUNDARIES,
                tag_keys=("node", "kind", "tenant"),
            )

    @contextlib.contextmanager
    def timed(self, name: str, kind: str, tenant: str) -> Iterator[None]:
        """Record the time of the block.

        Args:
            name: of a histogram.
            kind: of the sandbox, such as ``process``.
            tenant: empty for none.
        """
        begun = time.monotonic()
        try:
            yield
        finally:
            self.record(name, kind, tenant, time.monotonic() - begun)

    def record(self, name: str, kind: str, tenant: str, seconds: float) -> None:
        """Record a time.

        Args:
            name: of a histogram.
            kind: of the sandbox.
            tenant: empty for none.
            seconds: the time.
        """
        histogram = self._histograms.get(name)
        if histogram is not None:
            histogram.observe(seconds, {"node": self._node, "kind": kind, "tenant": tenant})

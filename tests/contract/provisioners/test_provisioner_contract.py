"""The contract of engines, on real kernels."""

from __future__ import annotations

from smolagents_fork.testing import EngineContract


class TestEngine(EngineContract):
    """Runs over each engine of the fixture ``place``."""

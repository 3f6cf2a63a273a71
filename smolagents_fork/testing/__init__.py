"""The contract of engines, for the tests of packages that bring one; works with pytest."""

from __future__ import annotations

from .engine_contract import EngineContract
from .engine_under_test import EngineUnderTest

__all__ = ["EngineContract", "EngineUnderTest"]

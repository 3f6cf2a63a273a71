"""The guarded engine: Python's own semantics in the host's process, under policy and limits.

Rooms: ``policy`` (data), ``compiling`` (text to code object), ``guards`` (decisions at run time),
``modules`` (views and the table of overrides), ``meter`` (limits), ``api``.
"""

from __future__ import annotations

from .api import Interpreter, Result
from .meter import RunLimits

__all__ = ["Interpreter", "Result", "RunLimits"]

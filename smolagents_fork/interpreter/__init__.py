"""The local interpreter: Python's own semantics, under policy and limits.

Pure Python, and imports nothing but the standard library and the fork's lower layers, so that it
also runs in a child process and in CPython built for Wasm.

Rooms: ``policy`` (data), ``compiling`` (text to code object), ``guards`` (decisions at run time),
``modules`` (views and the table of overrides), ``meter`` (limits), ``messages``, ``api``.
"""

from __future__ import annotations

from .api import Interpreter, Result
from .meter import Limits
from .modules.views import is_authorized
from .policy import DEFAULT_IMPORTS

__all__ = ["DEFAULT_IMPORTS", "Interpreter", "Limits", "Result", "is_authorized"]

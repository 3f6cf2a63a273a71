"""The local interpreter: Python's own semantics, under policy and limits.

Pure Python, and imports nothing but the standard library and the fork's errors, so that it also
runs in a child process and in CPython built for Wasm.

Modules: ``policy`` (data), ``transform`` (rewrites, decides nothing), ``guards`` (decides; the
boundary), ``meter`` (limits), ``modules`` (read-only views), ``run``.
"""

from __future__ import annotations

from .limits import Limits, Result
from .modules import is_authorized
from .output import PrintContainer
from .policy import DEFAULT_IMPORTS
from .run import Interpreter

__all__ = ["DEFAULT_IMPORTS", "Interpreter", "Limits", "PrintContainer", "Result", "is_authorized"]

"""The plain engine: a program runs as it is, where the kernel or Deno confines it."""

from __future__ import annotations

from .plain_engine import PlainEngine

__all__ = ["PlainEngine"]

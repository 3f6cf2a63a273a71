"""Where things are in the checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BUILD", "CACHE", "PATCHES", "REPORTS", "ROOT"]

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "patches"
BUILD = ROOT / "build"
CACHE = BUILD / "cache"
REPORTS = ROOT / "reports"

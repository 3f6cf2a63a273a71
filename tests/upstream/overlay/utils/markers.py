"""The `require_*` marks that upstream's tests import from a module its sdist does not carry."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def _needs_module(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"absent package: {name}")


# conftest.py decides, by name, which of these are skipped.
require_run_all = pytest.mark.require_run_all
require_soundfile = _needs_module("soundfile")
require_torch = _needs_module("torch")

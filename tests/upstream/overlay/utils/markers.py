"""The `require_*` marks that upstream's tests import from a module its sdist does not carry."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def _needs_module(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"absent package: {name}")


require_run_all = pytest.mark.skipif(
    not os.environ.get("RUN_ALL"), reason="marked require_run_all; set RUN_ALL=1 to run it"
)
require_soundfile = _needs_module("soundfile")
require_torch = _needs_module("torch")

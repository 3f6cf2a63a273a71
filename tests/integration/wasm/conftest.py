"""Every test here needs Deno and Pyodide."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.wasm)


@pytest.fixture(autouse=True)
def _machine(wasm_machine: None) -> None:
    """Skip, or fail, where the machinery is missing."""

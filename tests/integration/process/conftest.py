"""Executors with all of CPython, and with a fork server of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confined_attacks import raw_executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.process import spawn


@pytest.fixture(scope="module")
def raw() -> Iterator[ProcessExecutor]:
    """Give an executor whose children import anything."""
    with raw_executor() as made:
        yield made


@pytest.fixture
def own_fork_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start a fork server without the children of other tests, which would end with it."""
    monkeypatch.setattr(spawn, "_fork_servers", {})
    yield
    spawn.stop_fork_servers()

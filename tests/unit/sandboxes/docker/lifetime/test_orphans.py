"""Containers that count as abandoned."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes.docker.lifetime import orphans


@pytest.mark.parametrize(
    ("state", "age", "abandoned"),
    [("created", 601.0, True), ("created", 300.0, False), ("running", 10_000.0, False)],
)
def test_container_that_was_never_started_is_abandoned_in_time(
    state: str, age: float, abandoned: bool
):
    summary = {"State": state, "Created": 1_000_000}
    assert orphans.was_abandoned(summary, 1_000_000 + age) is abandoned

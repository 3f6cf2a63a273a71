"""Containers that the reaper removes, and waits for removals."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.lifetime import reaper


@pytest.mark.parametrize(
    ("state", "age", "abandoned"),
    [("created", 601.0, True), ("created", 300.0, False), ("running", 10_000.0, False)],
)
def test_container_that_was_never_started_is_abandoned_in_time(
    state: str, age: float, abandoned: bool
):
    summary = {"State": state, "Created": 1_000_000}
    assert reaper.was_abandoned(summary, 1_000_000 + age) is abandoned


def test_wait_for_one_removal_does_not_wait_for_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reaper, "_known", {"blocked": EngineAddress.of()})
    assert reaper.wait_until_gone("removed", 60.0)
    assert not reaper.wait_until_gone("blocked", 0.0)

"""Containers that the reaper removes, and waits for removals."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

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


def test_wait_for_an_engine_that_does_not_answer_is_not_a_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Nothing was removed there; what other engines have left is not waited for."""
    silent, other = EngineAddress(f"unix://{tmp_path}/none.sock"), EngineAddress("tcp://other:1")
    monkeypatch.setattr(reaper, "_known", {"lost": silent, "in use": other})
    monkeypatch.setattr(reaper, "_unremoved", set())
    client = Mock()
    client.api.remove_container.side_effect = ConnectionError("no answer")
    reaper.remove(client, "lost", wait=False)
    assert not reaper.wait_until_removed(60.0, silent)
    assert not reaper.wait_until_removed(0.0, silent)
    assert reaper.wait_until_removed(60.0, other)
    reaper.remove(client, "lost", wait=True)
    assert not reaper.wait_until_removed(60.0, silent)
    client.api.remove_container.side_effect = None
    reaper.remove(client, "lost", wait=True)
    assert reaper.wait_until_removed(60.0, silent)

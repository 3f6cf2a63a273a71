"""Diagnosis polls the engine until it knows what ended."""

from __future__ import annotations

from types import SimpleNamespace

from smolagents_fork.executors.jupyter.connection import status_after_end
from smolagents_fork.sandboxes.provisioner import SandboxStatus


def test_engine_that_notices_the_end_later_is_asked_again():
    answers = [SandboxStatus("running")] * 5 + [SandboxStatus("ended", 137)]
    status = status_after_end(SimpleNamespace(status=lambda: answers.pop(0)))  # type: ignore[arg-type]
    assert (status.state, status.exit_code) == ("ended", 137)

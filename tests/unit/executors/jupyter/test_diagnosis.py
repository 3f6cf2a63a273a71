"""Diagnosis polls the engine until it knows what ended."""

from __future__ import annotations

import time

from smolagents_fork.executors.jupyter.connection import status_after_end
from smolagents_fork.sandboxes.provisioner import SandboxStatus


class Sandbox:
    """One whose engine takes its time for each answer, and knows of the end after 1.2 seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ended_at = time.monotonic() + 1.2

    def status(self) -> SandboxStatus:
        time.sleep(self.seconds)
        if time.monotonic() < self.ended_at:
            return SandboxStatus("running")
        return SandboxStatus("ended", 137)


def test_an_engine_that_is_slow_to_answer_has_longer_to_notice():
    status = status_after_end(Sandbox(0.25))  # type: ignore[arg-type]  # a part of the protocol
    assert (status.state, status.exit_code) == ("ended", 137)

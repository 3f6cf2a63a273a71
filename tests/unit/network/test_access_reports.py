"""Reports of connections: what nobody can record is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smolagents_fork.network.access_record import AccessRecord
from smolagents_fork.network.hosts.host_policy import HostRefusedError


def test_connection_that_cannot_be_recorded_is_refused():
    def full(_event: str, _phase: str, _facts: Any) -> None:
        raise OSError("the disk is full")

    record = AccessRecord(None, "DockerExecutor", full)
    with pytest.raises(HostRefusedError, match="could not be recorded: the disk is full"):
        asyncio.run(record.report("connection", "begin", host="a.example", port=443))


def test_report_without_a_listener_does_nothing():
    asyncio.run(
        AccessRecord(None, "DockerExecutor").report(
            "connection", "begin", host="a.example", port=443
        )
    )

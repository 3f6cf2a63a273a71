"""The record of one call, and the reports of its connections."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smolagents_fork.control.proposals import AgentStep, present_step, stepping
from smolagents_fork.network.access_record import AccessRecord
from smolagents_fork.network.hosts.host_policy import HostRefusedError


def test_each_refusal_is_named_once_and_many_are_counted():
    record = AccessRecord(None, "DockerExecutor")
    assert record.text == ""
    for number in range(25):
        for _ in range(3):
            record.refuse(f"host 'h{min(number, 12)}'")
    lines = record.text.splitlines()[1:]
    assert lines[0] == "Refused by the network proxy: host 'h0'"
    assert lines[-1].startswith("Refused by the network proxy: ")
    assert lines[-1].endswith(" more")
    assert len(lines) == 11


def test_next_call_begins_anew():
    record = AccessRecord(10, "DockerExecutor")
    record.refuse("host 'a'")
    record.count(10)
    with pytest.raises(HostRefusedError, match="more than max_network_bytes=10 of this Docker"):
        record.count(1)
    record.begin_call()
    record.count(10)
    assert record.text == ""


def test_connection_belongs_to_the_step_of_the_call():
    steps: list[AgentStep | None] = []
    record = AccessRecord(None, "DockerExecutor", lambda *_: steps.append(present_step()))
    step = AgentStep("helper", 2, "")
    with stepping(step):
        record.begin_call()
    asyncio.run(record.report("connection", "begin", host="a.example", port=443))
    assert steps == [step]


def test_connection_that_cannot_be_recorded_is_refused():
    def full(_event: str, _phase: str, _facts: Any) -> None:
        raise OSError("the disk is full")

    record = AccessRecord(None, "DockerExecutor", full)
    with pytest.raises(HostRefusedError, match=r"the connection could not be recorded$"):
        asyncio.run(record.report("connection", "begin", host="a.example", port=443))

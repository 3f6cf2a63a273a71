"""Answers of nodes: anything else than the fields expected is a protocol error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from smolagents_fork.errors import ConfigurationError, ProtocolError
from smolagents_fork.ray_cluster.plain_data import (
    NodeStats,
    Reservation,
    SupervisorPlace,
    as_data,
    file_infos_of,
    from_data,
    stats_of,
)
from smolagents_fork.results import ExecutorStats, FileInfo
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import ImageSpec, Limits, SandboxSpec, SandboxStatus

FIGURES: dict[str, Any] = {
    "memory_bytes": 1,
    "memory_limit_bytes": None,
    "cpu_seconds": 0.5,
    "pids": 2,
}


def test_resource_use_is_checked():
    assert stats_of(FIGURES) == ExecutorStats(**FIGURES)
    for wrong in ({"memory_bytes": 1.5}, {"pids": "2"}, {"cpu_seconds": None}, {"more": 1}):
        with pytest.raises(ProtocolError):
            stats_of({**FIGURES, **wrong})
    for number in (-1, 10**400, float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ProtocolError, match=r"negative|out of range"):
            stats_of({**FIGURES, "cpu_seconds": number})


def test_files_have_a_path_and_a_size():
    assert file_infos_of([{"path": "a", "size": 1}]) == [FileInfo("a", 1)]
    for wrong in ({"path": 1, "size": 1}, {"path": "a", "size": "1"}, {"path": "a", "size": True}):
        with pytest.raises(ProtocolError, match="a value of the wrong type"):
            file_infos_of([wrong])


def test_place_of_a_supervisor_is_checked():
    place = SupervisorPlace("s", "n", "10.0.0.1", 4000, b"key", False)
    data = as_data(place)
    assert from_data(SupervisorPlace, data) == place
    for wrong in ({"port": "1"}, {"node": b"n"}, {"extra": 1}, {"port": 1 << 70}):
        with pytest.raises(ProtocolError, match="SupervisorPlace"):
            from_data(SupervisorPlace, {**data, **wrong})
    assert "key" not in repr(place)


@pytest.mark.parametrize(
    "value",
    [
        ContainerOptions(environment={"A": "b"}),
        ImageSpec(image="mine:1", requirements=[]),
        SandboxSpec("mine:1", Limits(memory=None)),
        SandboxStatus("ended", 1, True, ("a line",)),
        Reservation("process", 4, 0.5, 0, 15.0),
    ],
)
def test_dataclasses_pass_as_plain_data(value: Any):
    assert from_data(type(value), as_data(value)) == value


def test_log_lines_are_text():
    data = as_data(SandboxStatus("ended", log_lines=("a line",)))
    with pytest.raises(ProtocolError, match=r"SandboxStatus\.log_lines has a value of the wrong"):
        from_data(SandboxStatus, {**data, "log_lines": ["a line", 1]})


def test_object_of_the_host_is_not_sent():
    with pytest.raises(ConfigurationError, match="cannot be sent to a node"):
        as_data(ContainerOptions(container_run_kwargs={"labels": object()}))


STATS = NodeStats("node", "supervisor", 4, 3, "", 0.5)


def test_ready_slots_have_no_sandbox():
    assert STATS.ready == 1
    assert replace(STATS, in_use=4).ready == 0


def test_supervisor_that_takes_no_sandbox_has_no_ready_slot():
    assert replace(STATS, engine_error="no engine").ready == 0


@pytest.mark.parametrize(("lease", "silent"), [(5.0, 9.0), (15.0, 9.0), (60.0, 36.0)])
def test_silence_that_is_borne_follows_the_lease(lease: float, silent: float):
    assert Reservation("process", 1, 1.0, 0, lease).silent_seconds == silent

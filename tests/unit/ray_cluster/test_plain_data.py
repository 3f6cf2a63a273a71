"""Answers of nodes: anything else than the expected fields is a protocol error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import EncodeError, ProtocolError
from smolagents_fork.process.child_places import ChildRequest
from smolagents_fork.process.confinement_report import Bounds
from smolagents_fork.ray_cluster.plain_data import (
    CLASSES,
    NodeStats,
    Reservation,
    SupervisorPlace,
    check_data,
    check_files,
    check_stats,
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
    assert check_stats(ExecutorStats(**FIGURES)) == ExecutorStats(**FIGURES)
    for wrong in ({"memory_bytes": 1.5}, {"pids": "2"}, {"cpu_seconds": None}):
        with pytest.raises(ProtocolError, match="a value of the wrong type"):
            check_stats(ExecutorStats(**{**FIGURES, **wrong}))
    for number in (-1, 10**400, float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ProtocolError, match=r"negative|out of range"):
            check_stats(ExecutorStats(**{**FIGURES, "cpu_seconds": number}))
    with pytest.raises(ProtocolError, match="expected ExecutorStats"):
        check_stats(FIGURES)


def test_files_have_a_path_and_a_size():
    assert check_files([FileInfo("a", 1)]) == [FileInfo("a", 1)]
    for path, size in ((1, 1), ("a", "1"), ("a", True)):
        with pytest.raises(ProtocolError, match="a value of the wrong type"):
            check_files([FileInfo(path, size)])  # type: ignore[arg-type]  # as a node may send it
    for wrong in ({"path": "a"}, [FileInfo("a", 1)] * 10_001, ["a"]):
        with pytest.raises(ProtocolError):
            check_files(wrong)


def test_place_of_a_supervisor_is_checked():
    place = SupervisorPlace("s", "n", "10.0.0.1", 4000, b"key", False)
    assert check_data(place, SupervisorPlace) is place
    for wrong in ({"port": "1"}, {"node": b"n"}, {"port": 1 << 70}):
        with pytest.raises(ProtocolError, match="SupervisorPlace"):
            check_data(replace(place, **wrong), SupervisorPlace)  # type: ignore[arg-type]
    assert "key" not in repr(place)


@pytest.mark.parametrize(
    "value",
    [
        ChildRequest(("numpy",), "host", Bounds("", ("/data",), threads=3), 1000, 5.0),
        ContainerOptions(environment={"A": "b"}),
        ImageSpec(image="mine:1", requirements=[]),
        SandboxSpec("mine:1", Limits(memory=None)),
        SandboxStatus("ended", 1, True, ("a line",)),
        Reservation("process", 4, 0.5, 0, 15.0),
    ],
)
def test_dataclasses_pass(value: Any):
    assert decode(encode(value), classes=CLASSES) == value


def test_log_lines_are_text():
    status = SandboxStatus("ended", log_lines=("a line",))
    assert check_data(status, SandboxStatus) is status
    with pytest.raises(ProtocolError, match=r"SandboxStatus\.log_lines has a value of the wrong"):
        check_data(replace(status, log_lines=("a line", 1)), SandboxStatus)  # type: ignore[arg-type]


def test_object_of_the_host_is_not_sent():
    with pytest.raises(EncodeError, match=r"container_run_kwargs\['labels'\]: a value of type"):
        encode(ContainerOptions(container_run_kwargs={"labels": object()}))


STATS = NodeStats("node", "supervisor", 4, 3, "", 0.5)


def test_ready_slots_have_no_sandbox():
    assert STATS.ready == 1
    assert replace(STATS, in_use=4).ready == 0


def test_supervisor_that_takes_no_sandbox_has_no_ready_slot():
    assert replace(STATS, engine_error="no engine").ready == 0


@pytest.mark.parametrize(("lease", "silent"), [(5.0, 9.0), (15.0, 9.0), (60.0, 36.0)])
def test_silence_that_is_borne_follows_the_lease(lease: float, silent: float):
    assert Reservation("process", 1, 1.0, 0, lease).silent_seconds == silent

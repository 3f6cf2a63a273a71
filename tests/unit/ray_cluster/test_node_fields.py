"""Answers of nodes: anything else than the fields expected is a protocol error."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from smolagents_fork.errors import ProtocolError
from smolagents_fork.ray_cluster.links.container_data import file_infos_of, read_head, stats_of
from smolagents_fork.ray_cluster.links.node_fields import PLACE, fields_of
from smolagents_fork.results import ExecutorStats, FileInfo

FIGURES: dict[str, Any] = {
    "memory_bytes": 1,
    "memory_limit_bytes": None,
    "cpu_seconds": 0.5,
    "pids": 2,
}


def test_first_line_of_nested_brackets_is_refused():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"[" * 60_000 + b"\n")
        with pytest.raises(ProtocolError, match="a first line that is not JSON"):
            read_head(ours, 60)


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
    place = {
        "supervisor": "s", "node": "n", "address": "10.0.0.1", "port": None,
        "why_no_port": "", "tls": False, "pid": 1,
    }  # fmt: skip
    assert fields_of(place, PLACE, "a place") == place
    for wrong in ({"port": "1"}, {"node": b"n"}, {"extra": 1}):
        with pytest.raises(ProtocolError, match="a place"):
            fields_of({**place, **wrong}, PLACE, "a place")

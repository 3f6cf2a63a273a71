"""The Ray benchmark's rows: each limit is a goal, and parts are chosen by name."""

from __future__ import annotations

import contextlib

import pytest

import tools.bench.__main__ as everything
from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from tools.bench.ray import __main__ as command
from tools.bench.ray.report import PARTS, drawn

MANY = {"count": 12, "answered": 12, "seconds": 6.0}
GOOD = {
    "start": {"local": [0.05], "ray": [0.07]},
    "calls": {
        "kind": "docker",
        "local": {"call": 0.005, "tool": 0.001},
        "ray": {"call": 0.006, "tool": 0.0012},
    },
    "processes": {**MANY, "bytes_each": 7.2e6, "supervisor_bytes": 80e6, "actors": 3},
    "containers": {**MANY, "bytes": [56e6, 57e6], "local_bytes": [55e6]},
    "scaling": {"rates": [16.0, 31.0, 46.0]},
}


def test_goals_reached():
    text, reached = drawn(GOOD)
    assert reached
    assert "MISSED" not in text
    assert "| process: start and first call | 50.0 ms | none | 70.0 ms | 1.40 | <= 2 of" in text
    assert "| calls that sleep 0.5 s, 3 nodes | 48/s | none | 46/s | 0.96 | >= 0.9 of" in text
    assert "| process: seconds for each start, many at once | - | none | 0.50 s |" in text


@pytest.mark.parametrize(
    ("part", "figures"),
    [
        ("start", {"ray": [0.11]}),
        ("calls", {"ray": {"call": 0.007, "tool": 0.001}}),
        ("calls", {"ray": {"call": 0.005, "tool": 0.0016}}),
        ("processes", {"answered": 11}),
        ("processes", {"bytes_each": 12.1e6}),
        ("processes", {"actors": 4}),
        ("containers", {"answered": 11}),
        ("containers", {"bytes": [64e6]}),
        ("scaling", {"rates": [16.0, 31.0, 43.0]}),
        ("scaling", {"rates": [16.0, 28.0, 46.0]}),
    ],
)
def test_missed_goal_is_reported(part, figures):
    text, reached = drawn({part: {**GOOD[part], **figures}})
    assert not reached
    assert text.count("MISSED") == 1


def test_rate_of_a_node_that_was_not_reached_is_an_error():
    with pytest.raises(ValueError, match=r"goals without a row: calls that sleep 0\.5 s, 3 nodes"):
        drawn({"scaling": {"rates": [16.0, 31.0]}})


def test_every_part_has_rows_and_a_measure():
    assert list(command.MEASURES) == list(PARTS) == list(GOOD)
    assert all(PARTS[name].rows(GOOD[name]) and PARTS[name].goals for name in PARTS)


def test_parts_are_chosen_by_name():
    assert command.chosen("") == list(PARTS)
    assert command.chosen("calls, start") == ["start", "calls"]
    with pytest.raises(ConfigurationError, match="no part weather; there are start, calls"):
        command.chosen("weather")


def test_without_namespaces_the_reason_is_said(monkeypatch):
    options = command.argparse.Namespace(only="")
    monkeypatch.setattr(command.network, "missing", lambda: "network namespaces need root")
    with pytest.raises(EngineUnavailableError, match=r"three nodes .*: network namespaces need"):
        command.measured(options)


def test_failed_part_keeps_the_figures_of_the_others(monkeypatch):
    def fails(*_):
        raise EngineUnavailableError("the head is gone\nand its log is long")

    measures = {
        "start": lambda *_: GOOD["start"],
        "calls": fails,
        "scaling": lambda *_: {"rates": [16.0]},
        "containers": lambda *_: GOOD["containers"],
    }
    options = command.argparse.Namespace(only=",".join(measures), starts=1, calls=1)
    monkeypatch.setattr(command, "MEASURES", measures)
    monkeypatch.setattr(command.network, "missing", lambda: "")
    monkeypatch.setattr(command, "using_bench_cluster", contextlib.nullcontext)
    found = command.measured(options)
    text, reached = found.drawn
    assert not reached
    assert "process: start and first call" in text
    assert "docker: memory of a container" in text
    assert found.notes[0] == (
        "FAILED, without figures: calls: EngineUnavailableError: the head is gone"
    )
    assert found.notes[1].startswith("FAILED, without figures: scaling: ValueError: goals without")
    assert list(found.raw["parts"]) == ["start", "containers"]


@pytest.mark.parametrize(("reason", "there"), [("", True), ("it needs root", False)])
def test_recording_all_skips_it_with_the_reason(reason, there, monkeypatch, capsys):
    monkeypatch.setattr(everything, "NEEDS", {"ray": lambda: reason})
    assert ("ray" in everything.usual()) == there
    assert ("ray: skipped: it needs root" in capsys.readouterr().err) != there

"""The benchmark's table: it reports missed goals."""

from __future__ import annotations

import sys

import pytest

from tools.bench import pristine
from tools.bench.docker.report import table
from tools.bench.machine import busy_words, machine
from tools.bench.pristine import PristineError, checked_version, pristine_python
from tools.paths import Project


def results(**fork):
    side = {
        "cold": [2.8],
        "calls": [0.062],
        "megabyte": [0.1],
        "array": [1.0],
        "cleanup": [0.7],
        "memory_bytes": 100 << 20,
    }
    own = {
        **side,
        "cold": [0.7],
        "calls": [0.006],
        "cleanup": [0.001],
        "pool": [0.01],
        "tool_once": [0.002],
        "tool_many": 0.0015,
        "tool_calls": 10_000,
        "throughput": 300.0,
    } | fork
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "upstream_version": "1.26.0",
        "machine": {
            "cores": 2,
            "processor": "p",
            "system": "s",
            "python": "3.11",
            "load_before": 0.1,
        },
        "base_image": "base",
        "bare": {"cold": [0.3]},
        "upstream": {**side, "failed_starts": 0, "throughput": 30.0},
        "fork": own,
    }


def test_goals_reached():
    text, reached = table(results())
    assert reached
    assert "| later call, p50 | 62.0 ms | 6.0 ms | 0.097 | <= 0.125 reached |" in text


@pytest.mark.parametrize(
    "fork",
    [
        {"calls": [0.02]},
        {"cold": [2.5]},
        {"cleanup": [0.5]},
        {"pool": [0.5]},
        {"tool_many": 0.004},
        {"tool_once": [0.01, 0.002, 0.01]},
    ],
)
def test_missed_goal_is_reported(fork):
    text, reached = table(results(**fork))
    assert not reached
    assert "MISSED" in text


def test_upstream_failure_has_no_figure():
    given = results()
    given["upstream"] |= {"array": [], "array_error": "BrokenPipeError"}
    text, reached = table(given)
    assert reached
    assert "fails (BrokenPipeError)" in text


def test_the_table_names_machine_release_and_both_sides():
    text, _ = table(results())
    assert text.startswith("Measured 2026-01-02 on 2 cores (p), s, Python 3.11, load 0.1 before")
    assert "upstream 1.26.0" in text
    assert "| calls a second, 8 executors at once | 30 | 300 | 10.0 | |" in text
    assert (
        "| tool call through the bridge, 10,000, a call | none | 1.50 ms | | <= 3.0 ms reached |"
        in text
    )
    assert "busy" not in text


def test_busy_machine_is_reported_and_idle_one_is_not():
    given = results()
    given["machine"]["load_before"] = 3.2
    text, _ = table(given)
    assert "The machine was busy when this run began (load 3.2 on 2 cores)" in text
    assert busy_words(given["machine"])
    given["machine"]["load_before"] = 1.0
    assert busy_words(given["machine"]) is None


def test_this_machine_is_named():
    where = machine()
    assert where["cores"] >= 1
    assert where["processor"]
    assert where["load_before"] >= 0


def test_the_fork_is_refused_as_upstream():
    with pytest.raises(PristineError, match=r"has smolagents .*\+fork\.\d+, a build of the fork"):
        checked_version(sys.executable)


def test_missing_environment_is_an_error():
    with pytest.raises(PristineError, match="no/such/python"):
        checked_version("/no/such/python")


def test_wheel_other_than_the_locked_one_is_refused(tmp_path):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    cache = tmp_path / "build" / "cache"
    cache.mkdir(parents=True)
    (cache / "smolagents-1.26.0-py3-none-any.whl").write_bytes(b"another")
    with pytest.raises(PristineError, match="is not the lock's"):
        pristine_python(["docker"], [], project=Project(tmp_path))


def test_complete_environment_is_reused(tmp_path, monkeypatch):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    built: list[str] = []
    monkeypatch.setattr(pristine, "fetch_wheel", lambda *_: built.append("wheel") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pristine_python([], [], project=Project(tmp_path))
    (lock,) = (tmp_path / "build" / "bench").glob("*.lock")
    folder = lock.with_suffix("")
    folder.mkdir()
    (folder / "complete").touch()
    assert pristine_python([], [], project=Project(tmp_path)) == folder / "bin" / "python"
    assert built == ["wheel"]

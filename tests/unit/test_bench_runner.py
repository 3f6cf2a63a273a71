"""A benchmark's command: exit status, JSON, page; and the command that records all."""

from __future__ import annotations

import json
import re
import sys

import pytest

import tools.bench.__main__ as everything
from smolagents_fork.errors import ForkError
from tools.bench import record, runner
from tools.bench.comparison import Goal, Row
from tools.bench.machine import busy_note, machine
from tools.bench.runner import Benchmark, Measured
from tools.paths import ROOT


def benchmark(now: float = 1.0, error: Exception | None = None) -> Benchmark:
    def measure(options):
        if error is not None:
            raise error
        return Measured(
            [Row("call", now, "s", 1.0)],
            about=f"{options.calls} calls",
            notes=["A note."],
            raw={"times": [1]},
        )

    return Benchmark("process", "About.", {"call": Goal(1.5)}, measure, {"calls": (7, "calls")})


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text("<!-- bench process -->\nold\n<!-- end bench process -->\n")
    monkeypatch.setattr(
        runner, "write_section", lambda name, text: record.write_section(name, text, path)
    )
    return path


@pytest.mark.parametrize(("now", "status"), [(1.0, 0), (2.0, 1)])
def test_exit_status_says_whether_every_goal_was_reached(now, status, tmp_path, capsys):
    assert benchmark(now).run(["--output", str(tmp_path)]) == status
    assert ("MISSED" in capsys.readouterr().out) == (status == 1)


def test_nothing_to_compare_with_is_a_line_and_status_2(tmp_path, capsys):
    assert benchmark(error=ForkError("no engine")).run(["--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "bench-process: no engine"


def test_document_has_date_machine_rows_and_raw_figures(tmp_path):
    benchmark().run(["--output", str(tmp_path), "--calls", "3"])
    document = json.loads((tmp_path / "bench-process.json").read_text())
    assert document["machine"]["cores"] >= 1
    assert document["rows"] == [
        {"what": "call", "now": 1.0, "unit": "s", "floor": 1.0, "upstream": None}
    ]
    assert (document["times"], document["reached"]) == ([1], True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*", document["date"])


def test_page_is_written_only_when_asked(page, tmp_path):
    before = page.read_text()
    benchmark().run(["--output", str(tmp_path)])
    assert page.read_text() == before
    benchmark().run(["--output", str(tmp_path), "--record"])
    text = page.read_text()
    assert "; 7 calls.\n" in text
    assert "| call | 1.00 s | none | 1.00 s | 1.00 | <= 1.5 of the floor reached |" in text
    assert text.endswith("\nA note.\n\n<!-- end bench process -->\n")


def test_busy_machine_is_named_in_the_record_and_an_idle_one_is_not(page, tmp_path, monkeypatch):
    for load in (0.3, 3.2):
        where = machine() | {"load_before": load, "cores": 2}
        monkeypatch.setattr(runner, "machine", lambda where=where: where)
        benchmark().run(["--output", str(tmp_path), "--record"])
        words = "The machine was busy when this run began (load 3.2 on 2 cores)"
        assert (words in page.read_text()) == (load > 1)
        assert bool(busy_note(where)) == (load > 1)


def test_this_machine_is_named():
    where = machine()
    assert where["cores"] >= 1
    assert where["processor"]
    assert where["load_before"] >= 0


@pytest.fixture
def commands(monkeypatch):
    """Commands that would be run; statuses by name."""
    ran, statuses = [], {"process": 1, "docker": 0}

    class Done:
        def __init__(self, command):
            self.returncode = statuses.get(command[2].rpartition(".")[2], 0)

    monkeypatch.setattr(
        everything.subprocess, "run", lambda command, **_: ran.append(command) or Done(command)
    )
    monkeypatch.setattr(everything, "wait_until_idle", lambda _seconds: None)
    monkeypatch.setattr(everything, "NEEDS", {})
    monkeypatch.setattr(everything.contract_table, "write_times", lambda: ran.append("times"))
    return ran


def test_all_benchmarks_are_recorded_then_the_times(commands, capsys):
    assert everything.main([]) == 1
    names = [command[2] for command in commands[:-1]]
    assert names == [f"tools.bench.{n}" for n in everything.benchmarks()]
    assert all(command[0] == sys.executable for command in commands[:-1])
    assert all(command[3:] == ["--record"] for command in commands[:-1])
    assert commands[-1] == "times"
    assert "process: a goal MISSED" in capsys.readouterr().err


def test_named_benchmarks_are_recorded_in_their_order(commands):
    assert everything.main(["wasm", "docker"]) == 0
    assert [command[2] for command in commands[:-1]] == ["tools.bench.wasm", "tools.bench.docker"]
    with pytest.raises(SystemExit):
        everything.main(["weather"])


def test_every_benchmark_has_a_target_of_make_and_a_line_on_the_page():
    makefile, page = (ROOT / "Makefile").read_text(), record.PAGE.read_text()
    for name in everything.benchmarks():
        assert f"tools.bench.{name} --record" in makefile
        assert f"| `make bench-{name}` |" in page

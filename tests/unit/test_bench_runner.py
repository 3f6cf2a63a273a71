"""A benchmark's command: exit status, JSON and page."""

from __future__ import annotations

import sys
import types

import pyperf
import pytest

import tools.bench.__main__ as command
from smolagents_fork.errors import ForkError
from tools.bench import runner
from tools.bench.runner import PAGE, Measured, collect_metadata, machine_text, put_section
from tools.bench.table import Row
from tools.paths import ROOT

PAGE_TEXT = """# Benchmarks

<!-- bench process -->
old
<!-- end bench process -->

By hand.

<!-- bench docker -->
kept
<!-- end bench docker -->
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a made benchmark; returns the exit status."""
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE_TEXT)
    monkeypatch.setattr(runner, "PAGE", page)
    monkeypatch.setattr(runner, "REPORTS", tmp_path)
    monkeypatch.setattr(command.contract_table, "main", lambda: None)

    def call(*arguments: str, now: float = 1.0, error: Exception | None = None) -> int:
        def measure(repeat):
            if error is not None:
                raise error
            return Measured([Row("call", now, 1.0, goal=1.5)], f"{repeat} calls", ["A note."])

        made = types.SimpleNamespace(measure=measure)
        monkeypatch.setitem(sys.modules, "tools.bench.process.bench", made)
        return command.main(["process", *arguments])

    call.folder = tmp_path
    return call


@pytest.mark.parametrize(("now", "status"), [(1.0, 0), (2.0, 1)])
def test_exit_status_says_whether_every_goal_was_reached(run, now, status, capsys):
    assert run(now=now) == status
    assert ("MISSED" in capsys.readouterr().out) == (status == 1)


def test_nothing_to_compare_with_is_a_line_and_status_2(run, capsys):
    assert run(error=ForkError("no engine")) == 2
    assert capsys.readouterr().err == "bench: process did not run: no engine\n"


def test_figures_are_written_for_pyperf(run):
    run()
    (floor, now) = pyperf.BenchmarkSuite.load(str(run.folder / "bench-process.json"))
    assert (floor.get_name(), now.get_name()) == ("call (floor)", "call (now)")
    assert now.median() == 1.0


def test_only_the_benchmarks_own_section_is_written_and_only_when_asked(run):
    page = run.folder / "benchmarks.md"
    run()
    assert page.read_text() == PAGE_TEXT
    run("--record", "--repeat", "7")
    text = page.read_text()
    assert "; 7 calls.\n" in text
    assert "| call | 1.00 sec | none | 1.00 sec | 1.00 | <= 1.5 of floor reached |" in text
    assert "\nA note.\n\n<!-- end bench process -->\n\nBy hand.\n" in text
    assert text.endswith("<!-- bench docker -->\nkept\n<!-- end bench docker -->\n")


def test_busy_machine_is_named():
    metadata = collect_metadata()
    assert metadata["cpu_count"] >= 1
    for load in (0.3, 3.2):
        text = machine_text({**metadata, "load_avg_1min": load, "cpu_count": 2})
        assert ("BUSY" in text) == (load > 1)


@pytest.mark.parametrize(
    "page",
    [
        "# nothing",
        "<!-- bench process -->\n",
        "<!-- end bench process -->\n<!-- bench process -->\n",
        PAGE_TEXT + "<!-- bench process -->\n",
    ],
)
def test_missing_or_doubled_markers_are_an_error(page):
    with pytest.raises(ValueError, match=r"no section 'process': it needs the lines"):
        put_section(page, "process", "text")


def test_every_benchmark_has_a_target_of_make_a_line_and_a_section_on_the_page():
    makefile, page = (ROOT / "Makefile").read_text(), PAGE.read_text()
    for name in command.benchmarks():
        assert f"tools.bench {name} --record" in makefile
        assert f"| `make bench-{name}` |" in page
        put_section(page, name, "text")

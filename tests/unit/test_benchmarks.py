"""Benchmarks: floors, engines, upstream's environment, tables, and the command."""

from __future__ import annotations

import json
import sys
import types

import pyperf
import pytest

import tools.bench.__main__ as command
from buildsys.lock import load
from smolagents_fork.errors import ForkError
from tools.bench import runner
from tools.bench.floor_program import FloorError, FloorProgram
from tools.bench.interpreter.bench import Engine, ProgramTimes, draw_programs
from tools.bench.interpreter.programs import PROGRAMS
from tools.bench.network import bench as network
from tools.bench.pristine import pristine_python
from tools.bench.process.bench import FLOOR_PROGRAM
from tools.bench.runner import PAGE, Measured, collect_metadata, machine_text, put_section
from tools.bench.table import Row, draw, percentile, suite
from tools.bench.timings import time_repeatedly, time_turns
from tools.errors import FetchError
from tools.paths import ROOT, Project

ANSWERS = "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print({}, flush=True)"


def test_companion_answers_each_line_and_ends_with_its_input():
    with FloorProgram([sys.executable, "-c", ANSWERS.format("len(line) / 2")]) as floor:
        assert [floor.ask("abc"), floor.ask()] == [2.0, 0.5]
        process = floor._process
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("print('hello')", "printed 'hello' and not 'ready'"),
        ("pass", "ended"),
        (ANSWERS.format("'many'"), "answered 'many' and not a number"),
    ],
)
def test_other_answers_are_errors(program, words):
    with (
        pytest.raises(FloorError, match=words),
        FloorProgram([sys.executable, "-c", program]) as floor,
    ):
        floor.ask()


def test_process_floor_measures_fork_pipe_and_copy():
    with FloorProgram([sys.executable, "-I", FLOOR_PROGRAM]) as floor:
        for question in ("fork", "pipe", "copy 100000", "copy 100000"):
            assert floor.ask(question) > 0


def test_client_of_the_network_measures_requests():
    with (
        network._server() as port,
        FloorProgram([sys.executable, "-I", network.CLIENT, str(port)]) as floor,
    ):
        for question in ("new", "kept", "stream", "streams"):
            assert floor.ask(question) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="listed hosts are Linux's")
def test_client_of_the_network_measures_requests_to_the_host_of_a_secret():
    with network._ended_tls() as (floor, sides):
        for question in ("new", "kept", "stream"):
            assert floor.ask(question) > 0
            assert float(sides["process"](f"client.{question}()").output) > 0


def test_actions_take_turns():
    order = []
    found = time_turns(
        {"a": lambda: order.append("a") or 1.0, "b": lambda: order.append("b") or 2.0}, 2
    )
    assert order == ["a", "b", "a", "b"]
    assert found == {"a": [1.0, 1.0], "b": [2.0, 2.0]}


def test_action_is_repeated():
    assert len(time_repeatedly(lambda: None, 3)) == 3


CALLS = {"call": {"cpython": [0.001], "fork": [0.003], "upstream": [0.01]}}


def test_program_names_are_unique():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["cpython", "fork"])
def test_engine_runs_a_program_and_tells_of_an_error(name):
    engine = Engine(name, sys.executable)
    try:
        answer = engine.ask(source="x = 20\nx + 1")
        assert answer["result"] == "21"
        assert answer["seconds"][0] >= 0
        assert "ZeroDivisionError" in engine.ask(source="1 / 0")["error"]
        assert len(engine.ask(calls=3, new=True)["seconds"]) == 3
    finally:
        engine.close()


def test_upstreams_engine_is_not_the_fork():
    engine = Engine("upstream", sys.executable)
    assert "has ended" in engine.ask(source="1")["error"]


def times(ratio: float = 1.2) -> ProgramTimes:
    seconds = {"fork": [ratio / 10] * 2}
    return ProgramTimes("p", [0.1, 0.1], [0.01, 0.01], seconds, {"upstream": "`no` such thing"})


def test_ratio_is_the_median_over_the_rounds_at_the_size_that_the_engine_got():
    measured = ProgramTimes("x", [1.0, 2.0, 4.0], [0.5, 0.5, 0.5])
    measured.seconds = {"fork": [3.0, 2.0, 8.0], "upstream": [5.0, 6.0, 7.0]}
    assert measured.ratio("fork") == 2.0
    assert measured.ratio("upstream") == 12.0
    assert measured.ratio("another") is None


def test_page_is_one_table_of_multiples_of_the_floor():
    text, reached = draw_programs([times()], CALLS)
    assert reached
    assert text.splitlines() == [
        "| program | floor | upstream | now | goal |",
        "|---|---:|---:|---:|---:|",
        "| p | 100 ms | cannot | 1.20 | <= 2.2 reached |",
        "| **geometric mean** |  | - | 1.20 | <= 1.3 reached |",
        "| call | 1.000 ms | 10.00 | 3.00 |  |",
    ]


@pytest.mark.parametrize("ratio", [1.4, 2.3])
def test_slower_than_a_goal_is_missed(ratio):
    text, reached = draw_programs([times(ratio)], CALLS)
    assert not reached
    assert "MISSED" in text


def test_wheel_other_than_the_locked_one_is_refused(tmp_path):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    cache = tmp_path / "build" / "cache"
    cache.mkdir(parents=True)
    (cache / load(Project().lock).wheel.filename).write_bytes(b"another")
    with pytest.raises(FetchError, match=r"\.whl: sha256 is [0-9a-f]{64}, expected [0-9a-f]{64}; "):
        pristine_python(["docker"], [], Project(tmp_path))


ROWS = [
    Row("call", [0.002, 0.003, 0.001], 0.001, [0.06, 0.05], goal=3),
    Row("memory", 40 << 20, 20 << 20, "none measured", unit="byte"),
    Row("cleanup", 0.001, None, 0.5),
]


def test_median_of_each_side_and_its_multiple_of_the_floor():
    text, reached = draw(ROWS)
    assert reached
    assert text.splitlines()[2:] == [
        "| call | 1.00 ms | 55.0 ms | 2.00 ms | 2.00 | <= 3 of floor reached |",
        "| memory | 20.0 MiB | none measured | 40.0 MiB | 2.00 |  |",
        "| cleanup | - | 500 ms | 1.00 ms |  |  |",
    ]


def test_missed_goal_is_reported():
    text, reached = draw([Row("call", 0.004, 0.001, goal=3), *ROWS])
    assert not reached
    assert text.count("MISSED") == 1


def test_goal_without_a_floor_is_an_error():
    with pytest.raises(ValueError, match="'call': its goal is a multiple of a floor"):
        draw([Row("call", 1.0, goal=3)])


def test_all_figures_are_kept_as_pyperf_has_them(tmp_path):
    suite(ROWS).dump(str(tmp_path / "figures.json"))
    found = json.loads((tmp_path / "figures.json").read_text())["benchmarks"]
    names = [one["metadata"]["name"] for one in found]
    assert names[:3] == ["call (floor)", "call (upstream)", "call (now)"]
    assert found[2]["runs"][0]["values"] == [0.002, 0.003, 0.001]


def test_percentile():
    assert percentile(list(range(100)), 0.95) == 95
    assert percentile([1.0], 0.99) == 1.0


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
    for average in (0.3, 3.2):
        text = machine_text({**metadata, "load_avg_1min": average, "cpu_count": 2})
        assert ("BUSY" in text) == (average > 1)


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

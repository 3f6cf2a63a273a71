"""Benchmarks of all kinds of executors: what is left, and whether a long run is flat."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from tools.bench.comparison import compared
from tools.bench.host_state import HostState, own_scratch, resident_bytes, waited_for
from tools.bench.many.__main__ import KEPT_BYTES, WAVES, Outcome, drawn, outcome
from tools.bench.soak.__main__ import GOALS, Pace, Sample, quarters, rows


def none():
    return []


def test_what_is_left_is_named():
    before = HostState(descriptors=20, threads=5, children=1, folders=0, containers=0)
    after = HostState(descriptors=21, threads=4, children=1, folders=2, containers=3)
    assert after.beyond(before) == {"descriptors": 1, "folders": 2, "containers": 3}


def test_files_in_scratch_and_containers_are_counted():
    usual = tempfile.gettempdir()
    with own_scratch():
        before = HostState.now(none)
        tempfile.mkdtemp()
        left = waited_for(before, lambda: ["a container"], 0)
        scratch = tempfile.gettempdir()
    assert (left["folders"], left["containers"]) == (1, 1)
    assert tempfile.gettempdir() == usual
    assert not Path(scratch).exists()


def test_what_goes_within_the_time_is_not_left():
    containers = [["one"], ["one"], []]
    before = HostState(10**6, 10**6, 10**6, 10**6, 0)
    assert waited_for(before, lambda: containers.pop(0), 60) == {}
    assert containers == []


def test_memory_of_this_process_is_read():
    assert resident_bytes() > 1 << 20


def of_kind(kind: str = "local", **changes: object) -> Outcome:
    values = {"wave": 2, "seconds": 4.0, "open_seconds": 0.1, "most_bytes": 0, "kept_bytes": 0}
    return Outcome(kind=kind, count=8, left={}, **(values | changes))


def test_table_of_many_names_what_is_left():
    text, reached = drawn([of_kind()])
    assert reached
    assert "| local | 8 | 2 | 2.0 | 100.0 ms | 0 MiB | 0 MiB | nothing | nothing left, " in text
    outcome = Outcome("docker", 8, 2, 4.0, 0.1, 0, 0, {"containers": 3, "threads": 1})
    text, reached = drawn([of_kind(), outcome])
    assert not reached
    assert "| 3 containers, 1 threads | nothing left, <= 16 MiB kept: MISSED |" in text


def test_kept_memory_misses_the_goal():
    assert not drawn([of_kind(kept_bytes=KEPT_BYTES + 1)])[1]


@pytest.mark.parametrize("kind", ["local"])
def test_executors_are_opened_used_and_closed_in_waves(kind):
    found = outcome(kind, 5, 2, none)
    assert (found.count, found.wave, found.left) == (5, 2, {})
    assert kind in WAVES


def test_run_that_grows_is_not_flat():
    flat = [Sample(100 << 20, 20, 5)] * 8
    grown = [Sample((100 + 2 * n) << 20, 20, 5) for n in range(8)]
    leaking = [Sample(100 << 20, 20 + n, 5) for n in range(8)]
    calls = {"local": [0.001] * 100}
    assert compared(rows(flat, calls, 2), GOALS)[1]
    assert not compared(rows(grown, calls, 2), GOALS)[1]
    assert not compared(rows(leaking, calls, 2), GOALS)[1]


def test_rows_of_a_soak_have_rate_and_percentiles_of_each_kind():
    text, _ = compared(rows([Sample(1 << 20, 1, 1)], {"wasm": [0.001] * 100}, 2), GOALS)
    assert "| wasm: calls a second | - | none | 50/s |" in text
    assert "| wasm: p99 | 1.00 ms | none | 1.00 ms | 1.00 |" in text


def test_quarters_are_the_first_and_the_last():
    assert quarters(list(range(8))) == ([0, 1], [6, 7])
    assert quarters([1]) == ([1], [1])


class Echo:
    """An executor that evaluates the soak's program itself."""

    def __init__(self, stop: threading.Event, calls: int, wrong: bool = False) -> None:
        self.stop, self.left, self.wrong = stop, calls, wrong
        self.codes: list[str] = []

    def __call__(self, code: str):
        self.codes.append(code)
        self.left -= 1
        if not self.left:
            self.stop.set()
        names = {"same": lambda value: value, "print": lambda text: None}
        exec(code.rpartition("\n")[0], names)
        number = names["n"] + 1 + self.wrong
        return type("Output", (), {"output": number})


def test_paced_calls_are_new_code_with_tools_and_output():
    stop = threading.Event()
    executor = Echo(stop, 50)
    pace = Pace("echo", executor, 10_000)
    pace.reserve(1)
    pace.run(stop)
    assert pace.error is None
    assert len(pace.times) == 50
    assert len(set(executor.codes)) == 50
    assert sum("same(" in code for code in executor.codes) == 5
    assert sum("print(" in code for code in executor.codes) == 1


def test_a_wrong_result_ends_the_run():
    stop = threading.Event()
    pace = Pace("echo", Echo(stop, 50, wrong=True), 10_000)
    pace.run(stop)
    assert stop.is_set()
    assert str(pace.error) == "echo: 1 + 1 gave 3"

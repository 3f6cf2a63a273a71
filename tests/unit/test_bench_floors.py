"""Floors: programs in processes of their own, which answer with seconds."""

from __future__ import annotations

import sys

import pytest

from tools.bench.floor_program import FloorError, FloorProgram
from tools.bench.network import bench as network
from tools.bench.process.bench import FLOOR_PROGRAM
from tools.bench.timings import time_repeatedly, time_turns

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

"""The standard streams while programs run: each thread's own."""

from __future__ import annotations

import contextlib
import io
import sys
import threading

import pytest
from background import running

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_tool_prints_goes_to_the_host(
    fails: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def tool() -> None:
        print("of the tool")
        print("of the tool too", file=sys.stderr)
        if fails:
            raise ValueError

    interpreter = Interpreter()
    interpreter.send_tools({"tool": tool})
    code = "print('before')\ntry: tool()\nexcept ValueError: pass\nprint('after')"
    assert interpreter.run(code).logs == "before\nafter\n"
    assert capsys.readouterr() == ("of the tool\n", "of the tool too\n")


def test_a_function_of_the_program_that_a_tool_calls_prints_into_the_logs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def tool(function: object) -> None:
        print("host")
        function()  # type: ignore[operator]

    interpreter = Interpreter()
    interpreter.send_tools({"tool": tool})
    assert interpreter.run("tool(lambda: print('program'))").logs == "program\n"
    assert capsys.readouterr().out == "host\n"


def test_concurrent_threads_of_the_host_keep_their_streams(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    interpreter = Interpreter()

    def tool() -> None:
        begun.set()
        go_on.wait(60)

    interpreter.send_tools({"begun": tool})

    def host() -> None:
        begun.wait(60)
        print("of the host")
        print("of the host too", file=sys.stderr)
        go_on.set()

    with running(host, stop=go_on.set):
        logs = interpreter.run("print(1)\nbegun()\nprint(2)").logs
    assert logs == "1\n2\n"
    assert capsys.readouterr() == ("of the host\n", "of the host too\n")


def test_programs_in_several_threads_each_have_their_own_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    barrier = threading.Barrier(3)

    def one(name: str) -> str:
        interpreter = Interpreter(["calendar"])
        interpreter.send_tools({"meet": lambda: barrier.wait(60) and None})
        code = (
            f"import calendar\nprint('{name}')\nmeet()\ncalendar.prmonth(2024, 2)\nprint('{name}')"
        )
        return interpreter.run(code).logs

    with running(one, "a") as a, running(one, "b") as b, running(one, "c") as c:
        for name, call in (("a", a), ("b", b), ("c", c)):
            lines = call.result().splitlines()
            assert lines[0] == lines[-1] == name
            assert lines[1] == "   February 2024"
            assert len(lines) == 9
    assert capsys.readouterr() == ("", "")


def test_threads_of_a_program_print_into_its_logs(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import calendar, threading\n"
        "t = threading.Thread(target=calendar.prmonth, args=(2024, 2))\nt.start(); t.join()"
    )
    assert "February 2024" in Interpreter(["calendar", "threading"]).run(code).logs
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("code", ["print(1)", "1 / 0", "while True: pass", "final_answer(1)"])
def test_the_hosts_streams_are_back_after_every_end(code: str) -> None:
    before = sys.stdout, sys.stderr
    interpreter = Interpreter(limits=RunLimits(max_operations=1000))
    interpreter.send_tools({"final_answer": lambda x: x})
    with contextlib.suppress(InterpreterError):
        interpreter.run(code)
    assert (sys.stdout, sys.stderr) == before


def test_a_run_inside_a_tool_of_a_run_has_its_own_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner, outer = Interpreter(["calendar"]), Interpreter(["calendar"])
    month = "import calendar\ncalendar.prmonth(2024, 2)"
    outer.send_tools({"agent": lambda: (print("host"), inner.run(month).logs)[1]})
    result = outer.run("print('before')\nlogs = agent()\nprint('after')\nlogs")
    assert result.logs == "before\nafter\n"
    assert result.output.startswith("   February 2024")
    assert capsys.readouterr().out == "host\n"


def test_a_stream_that_the_host_puts_in_place_meanwhile_stays() -> None:
    before, mine = sys.stdout, io.StringIO()

    def replace() -> None:
        sys.stdout = mine

    interpreter = Interpreter()
    interpreter.send_tools({"replace": replace})
    try:
        interpreter.run("replace()\nprint(1)")
        assert sys.stdout is mine
    finally:
        sys.stdout = before

"""Standard streams: a program's output, and that of its modules, goes to its logs only."""

from __future__ import annotations

import contextlib
import io
import sys
import threading

import pytest
from background import running

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

MODULES = (
    *("calendar", "contextlib", "csv", "io", "json", "pandas", "pprint", "sys"),
    *("threading", "traceback"),
)


def printed(code: str, capfd: pytest.CaptureFixture[str]) -> str:
    logs: str = Interpreter(MODULES).run(code).logs
    assert capfd.readouterr() == ("", "")
    return logs


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import pprint\npprint.pprint({'b': 1, 'a': 2})", "{'a': 2, 'b': 1}\n"),
        ("from pprint import pp\npp({'b': 1, 'a': 2})", "{'b': 1, 'a': 2}\n"),
        ("import pprint\npprint.PrettyPrinter(width=5).pprint([1, 2])", "[1,\n 2]\n"),
        ("import sys\nprint('x', file=sys.stderr)\nn = sys.stdout.write('y')", "x\ny"),
        ("import sys\nsys.stdout.writelines(['a', 'b'])\nsys.stdout.flush()", "ab"),
        ("import csv, sys\ncsv.writer(sys.stdout).writerow([1, 'a,b'])", '1,"a,b"\r\n'),
        ("import calendar\ncalendar.prmonth(2024, 2)", "   February 2024\nMo Tu We Th Fr Sa Su\n"),
        ("import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()",
         "Traceback (most recent call last):\n"),
        ("import calendar, threading as t\nm = t.Thread(target=calendar.prmonth, args=(2024, 2))\n"
         "m.start(); m.join()", "   February 2024\n"),
    ],
)  # fmt: skip
def test_modules_print_into_the_logs(
    code: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert printed(code, capfd).startswith(words)


def test_info_of_a_frame_is_printed_into_the_logs(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    code = "import pandas as pd\npd.DataFrame({'a': [1, 2]}).info()"
    assert "RangeIndex: 2 entries, 0 to 1" in printed(code, capfd)


def test_a_redirection_left_behind_ends_with_its_run(capfd: pytest.CaptureFixture[str]) -> None:
    interpreter = Interpreter(MODULES)
    interpreter.run(
        "import contextlib, io\nr = contextlib.redirect_stdout(io.StringIO())\nr.__enter__()\n"
        "print('lost')"
    )
    assert interpreter.run("print('seen')").logs == "seen\n"


def help_text(code: str, capfd: pytest.CaptureFixture[str]) -> str:
    # Before Python 3.12 an empty line of a description is indented, too.
    return "".join(f"{line.rstrip()}\n" for line in printed(code, capfd).splitlines())


def test_help_on_the_programs_own(capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        "def add(a, b=[1]):\n    '''Adds.'''\n"
        "class Point:\n    '''A point.'''\n    def __init__(self, x, y=0): pass\n"
        "help(add, Point)"
    )
    logs = help_text(code, capfd)
    assert "\nadd(a, b=[1])\n    Adds.\n" in logs
    assert "\nclass Point(builtins.object)\n |  Point(x, y=0)\n |\n |  A point.\n" in logs


@pytest.mark.parametrize(
    ("value", "words"), [("len", "number of items"), ("json", "JSON"), ("'json'", "class str")]
)
def test_help_on_anything_else(value: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert words in help_text(f"import json\nhelp({value})", capfd)


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

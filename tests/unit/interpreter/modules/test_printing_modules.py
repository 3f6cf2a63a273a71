"""Output of modules goes to the program's output, and never to the host's streams."""

from __future__ import annotations

import pytest

from smolagents_fork.interpreter.guarded import Interpreter

MODULES = (
    *("calendar", "contextlib", "csv", "io", "json", "pandas", "pprint", "sys", "traceback"),
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

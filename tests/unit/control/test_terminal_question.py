"""The ready ``before_run``, on a real terminal and on a pipe, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from background import PATIENCE_SECONDS, run_python

PROGRAM = """
import signal, sys, threading
from smolagents_fork import LocalPythonExecutor, ask_before_run
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
executor = LocalPythonExecutor([], before_run=ask_before_run())
for code in sys.argv[1:]:
    try:
        print("output:", executor(code).output, flush=True)
    except Exception as error:
        print("error:", error, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
QUESTION = "Run it?"


class Terminal:
    """A terminal with a program, and a person who reads and types.

    Args:
        process: the program.
        descriptor: the person's side.
    """

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self.text = ""

    def wait_for(self, words: str) -> str:
        """Return what is shown after what was returned last, to the end of ``words``."""
        end = time.monotonic() + PATIENCE_SECONDS
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self._descriptor], [], [], 0.1)[0]:
                self.text += os.read(self._descriptor, 4096).decode()
        shown, words, self.text = self.text.partition(words)
        return shown + words

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())


@contextlib.contextmanager
def terminal(*codes: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *codes],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "100"},
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        os.close(ours)


def test_each_answer_has_its_effect():
    with terminal(*["6 * 7"] * 4) as person:
        assert "1 6 * 7" in person.wait_for(QUESTION)
        for answer, effect in (
            ("perhaps\n", "'perhaps' is none of these"),
            ("yes\n", "output: 42"),
            ("no not today\n", "before_run refused this code: not today"),
            ("n\n", "the person who was asked said no"),
        ):
            person.type(answer)
            person.wait_for(effect)
            person.wait_for(QUESTION)
        person.type("edit\n")
        person.wait_for("single '.'")
        person.type("a = 1\na + 1\n.\n")
        person.wait_for("output: 2")


def test_what_was_typed_before_the_question_answers_nothing():
    with terminal("import time; time.sleep(0.5)", "6 * 7") as person:
        person.wait_for(QUESTION)
        person.type("y\ny\ny\n")
        person.wait_for(QUESTION)
        person.type("no\n")
        person.wait_for("the person who was asked said no")


def test_whole_code_is_shown_and_hides_nothing():
    hidden = "x = 1  # \x1b[2K\x1b[1A \u202e hidden\n" + "y = 2\n" * 500 + "'last line'"
    with terminal(hidden) as person:
        shown = person.wait_for(QUESTION)
        assert "\x1b[2K" not in shown
        assert "\\x1b[2K" in shown
        assert "\\u202e" in shown
        assert "'last line'" in shown
        person.type("y\n")
        person.wait_for("output: last line")


def test_ctrl_c_ends_the_question_and_the_next_one_is_asked():
    with terminal("6 * 7", "1 + 1") as person:
        person.wait_for(QUESTION)
        person.process.send_signal(signal.SIGINT)
        person.wait_for(QUESTION)
        person.type("y\n")
        person.wait_for("output: 2")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("yes\n", "output: 42\nerror: before_run refused this code: nobody can be asked"),
        ("no\ny\n", "said no\noutput: 2"),
        ("", "error: before_run refused this code: nobody can be asked"),
        ("yes", "error: before_run refused this code: nobody can be asked"),
    ],
)
def test_lines_of_a_pipe_answer_one_question_each(typed, expected):
    printed = run_python(PROGRAM, "6 * 7", "1 + 1", input=typed).splitlines()
    told = [line for line in printed if "output:" in line or "error:" in line]
    plain = "\n".join(line.partition("edit: ")[2] or line for line in told)
    assert expected in plain

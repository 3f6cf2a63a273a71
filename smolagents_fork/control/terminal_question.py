"""A ready ``before_run`` for people: shows the code, and waits for yes, no or other code.

Only text typed after the question is shown answers it. Earlier input is discarded, as is input left
over from an interrupted call.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import select
import sys
import types
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ..system.forks import ForkSafeLock
from ..terminal import harmless
from .proposals import ProposedRun, Refused

__all__ = ["ask_before_run"]

# Longest wait for a line between looks at an interruption, in seconds.
_SLICE = 0.2
_QUESTION = "Run it? yes, no (and why), or edit: "
_END = "."
# There is one person, and several executors and threads may ask.
_asking = ForkSafeLock()


def ask_before_run(console: Console | None = None) -> Callable[[ProposedRun], str | None]:
    """Return a ``before_run`` that asks the person at the terminal or in the notebook.

    The whole code is shown, control characters and invisible ones as escapes. ``yes`` runs it.
    ``no`` refuses it, and the model is sent the text after it. ``edit`` reads other code, up to a
    line with a single period. When standard input has ended, everything is refused.

    Args:
        console: Console that shows the code; ``None``: standard output.

    Example:
        >>> executor = ProcessExecutor(before_run=ask_before_run())
        >>> executor("6 * 7").output
        Code to run:
          1 6 * 7
        Run it? yes, no (and why), or edit: yes
        42
    """
    shown = Console() if console is None else console

    def before_run(run: ProposedRun) -> str | None:
        with _turn(run):
            return ask(run)

    def ask(run: ProposedRun) -> str | None:
        shown.print(Text(_title(run), style="bold"))
        shown.print(Syntax(harmless(run.code), "python", line_numbers=True, word_wrap=True))
        read = _reader(run)
        while True:
            answer = read(_QUESTION).strip()
            word, _, reason = answer.partition(" ")
            if word.lower() in ("y", "yes"):
                return None
            if word.lower() in ("n", "no"):
                raise Refused(reason.strip() or "the person who was asked said no")
            if word.lower() in ("e", "edit"):
                shown.print(Text(f"Other code, to a line with a single {_END!r}:"))
                return "\n".join(_lines(read))
            shown.print(Text(f"{harmless(answer)!r} is none of these."))

    return before_run


@contextlib.contextmanager
def _turn(run: ProposedRun) -> Iterator[None]:
    """Wait until the person has no other question, one that was withdrawn included."""
    while not _asking.acquire(timeout=_SLICE):
        _check_wanted(run)
    try:
        yield
    finally:
        _asking.release()


def _check_wanted(run: ProposedRun) -> None:
    if run.withdrawn:
        raise Refused("the call was interrupted")


def _title(run: ProposedRun) -> str:
    if run.step_number is None:
        return "Code to run:"
    agent = "the agent" if run.agent_name is None else f"agent {harmless(run.agent_name)!r}"
    return f"Code of step {run.step_number} of {agent} to run:"


def _lines(read: Callable[[str], str]) -> Iterator[str]:
    while (line := read("")) != _END:
        yield line


def _reader(run: ProposedRun) -> Callable[[str], str]:
    """Return a function that shows a prompt and returns a line, without its end."""
    # A notebook has its own input(), and select() takes no terminal on Windows.
    if os.name != "posix" or not isinstance(builtins.input, types.BuiltinFunctionType):
        return _ask_by_input
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # no standard input, or one that is no file
        return _ask_by_input
    return _DescriptorReader(descriptor, run)


def _ask_by_input(prompt: str) -> str:
    try:
        return input(prompt)
    except EOFError:
        raise _nobody() from None


def _nobody() -> Refused:
    return Refused("nobody can be asked: standard input has ended")


class _DescriptorReader:
    """Reads lines of one question from standard input, and looks at an interruption."""

    def __init__(self, descriptor: int, run: ProposedRun) -> None:
        self._descriptor = descriptor
        self._run = run
        self._read = b""
        _drop_typed(descriptor)

    def __call__(self, prompt: str) -> str:
        print(prompt, end="", flush=True)
        while b"\n" not in self._read:
            _check_wanted(self._run)
            if not select.select([self._descriptor], [], [], _SLICE)[0]:
                continue
            piece = os.read(self._descriptor, 1)  # what follows the answer is not ours
            if not piece:
                raise _nobody()
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")


def _drop_typed(descriptor: int) -> None:
    import termios

    with contextlib.suppress(termios.error):  # a pipe or a file, whose lines are all answers
        termios.tcflush(descriptor, termios.TCIFLUSH)

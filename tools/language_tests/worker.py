"""One process that runs the test methods of one file, in CPython or in the interpreter.

``python -m tools.language_tests.worker ENGINE FILE SECONDS [CLASS.METHOD ...]`` runs these methods,
or those that the file defines. It prints one line of JSON: what the file does not load with, and
the error of each method, empty for one that passed. Each method runs in a child process of the
loaded program, which is killed at its deadline. Tests print to nowhere.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import resource
import select
import signal
import sys
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .programs import REMOVED, imported_modules, program_text, without_line

__all__ = ["main"]

FILENAME = "<language test>"
_MANY = 1 << 62
#: Bytes of address space of a process.
_MEMORY = 4 << 30
#: Deadline of a method's process, as a multiple of what a run inside the interpreter may take.
_PATIENCE = 3
_MOST_ERROR_CHARS = 400

#: The program that runs one method: the fixtures of its class, then the method itself.
_DRIVER = """\
{cls}.setUpClass()
try:
    {cls}({method!r}).run(language_test_result)
finally:
    {cls}.tearDownClass()
    {cls}.doClassCleanups()
"""
_MODULE_FIXTURE = "setUpModule()\n"


class Outcome(unittest.TestResult):
    """Keeps the first thing that went wrong in one test method."""

    def __init__(self) -> None:
        super().__init__()
        self.error = ""

    def addError(self, _test: Any, err: Any) -> None:
        self._keep(err)

    def addFailure(self, _test: Any, err: Any) -> None:
        self._keep(err)

    def addSubTest(self, _test: Any, _subtest: Any, err: Any) -> None:
        if err is not None:
            self._keep(err)

    def addSkip(self, _test: Any, reason: str) -> None:
        self.error = self.error or f"skipped: {reason}"

    def addUnexpectedSuccess(self, _test: Any) -> None:
        self.error = self.error or "passed where a failure was expected"

    def _keep(self, err: Any) -> None:
        self.error = self.error or describe(err[1])[0]


def describe(error: BaseException) -> tuple[str, int]:
    """Return type and first line of an error, and the line of the program it left last."""
    cause = error.__cause__
    if type(error).__name__ == "ProgramFailedError" and cause is not None:
        error = cause
    try:
        text = str(error).strip()
    except BaseException as problem:
        text = f"<its text raises {type(problem).__name__}>"
    line, trace = 0, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith("<") and not name.startswith("<frozen"):
            line = trace.tb_lineno
        trace = trace.tb_next
    # A refusal before the start has no traceback in the program; its text has the line.
    if not line and (named := re.search(r"\(line (\d+)\)|on line (\d+) due to", text)):
        line = int(named[1] or named[2])
    if text.startswith(REMOVED):
        return text.removeprefix(REMOVED), line
    text = re.sub(r"^Code execution failed at line .*? due to: (InterpreterError: )?", "", text)
    described = f"{type(error).__name__}: {(text.splitlines() or [''])[0]}"
    return described[:_MOST_ERROR_CHARS], line


class CPython:
    """The baseline: the program as the module ``__main__``, executed by Python itself."""

    def __init__(self, text: str, path: str, _seconds: float) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.space = module.__dict__
        self.space["__file__"] = path
        self.run(text)

    def run(self, text: str) -> None:
        exec(compile(text, FILENAME, "exec", dont_inherit=True), self.space)

    def send(self, name: str, value: Any) -> None:
        self.space[name] = value


class Inside:
    """The fork's interpreter, with the modules that the file imports authorised."""

    def __init__(self, text: str, path: str, seconds: float) -> None:
        from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

        # CPython has no such limits; the process's memory is limited in both engines.
        limits = RunLimits(
            max_operations=_MANY,
            max_while_iterations=_MANY,
            timeout_seconds=seconds,
            max_items=sys.maxsize,
            max_text_length=sys.maxsize,
            max_integer_bits=_MANY,
        )
        self.interpreter = Interpreter(imported_modules(text), limits=limits)
        self.space = self.interpreter.state
        self.send("__file__", path)
        self.run(text)

    def run(self, text: str) -> None:
        self.interpreter.run(text)

    def send(self, name: str, value: Any) -> None:
        self.interpreter.send_variables({name: value})


ENGINES: dict[str, Callable[[str, str, float], Any]] = {"cpython": CPython, "inside": Inside}


def discover(space: dict[str, Any]) -> list[str]:
    """List ``CLASS.METHOD`` of every test that the program itself defines.

    Methods inherited from a helper module are left out: they would run outside the interpreter.
    """
    found: list[str] = []
    seen: set[int] = set()
    for name, value in list(space.items()):
        if not (isinstance(value, type) and issubclass(value, unittest.TestCase)):
            continue
        if id(value) in seen or value.__module__ != "__main__" or not name.isidentifier():
            continue
        seen.add(id(value))
        for method in unittest.TestLoader().getTestCaseNames(value):
            function: Any = getattr(value, method)
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
            code = getattr(function, "__code__", None)
            if code is not None and code.co_filename == FILENAME:
                found.append(f"{name}.{method}")
    return found


def run_method(engine: Any, name: str) -> str:
    """Run one method in a loaded engine; return the first error, or nothing if it passed."""
    outcome = Outcome()
    cls, _, method = name.partition(".")
    try:
        engine.send("language_test_result", outcome)
        engine.run(_DRIVER.format(cls=cls, method=method))
    except BaseException as error:
        outcome.error = outcome.error or describe(error)[0]
    return outcome.error or ("" if outcome.testsRun == 1 else "no test ran")


def run_apart(action: Callable[[], str], seconds: float) -> str:
    """Return what an action returns in a child process, or why that came to no end.

    Args:
        action: returns a text.
        seconds: after which the child is killed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        with open(writing, "w", encoding="utf-8", errors="backslashreplace") as answers:
            answers.write(f"{action()}\n")
        os._exit(0)  # threads that a test has left do not keep the process
    os.close(writing)
    with open(reading, encoding="utf-8") as lines:
        in_time = bool(select.select([lines], [], [], seconds)[0])
        answer = lines.readline() if in_time else ""
        os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if answer:
        return answer.rstrip("\n")
    return f"the process ended with status {status}" if in_time else f"over {seconds:g} s"


def load(engine: str, text: str, path: str, seconds: float) -> Any:
    """Return an engine with the program run in it, and its ``setUpModule``."""
    loaded = ENGINES[engine](text, path, seconds)
    if re.search(r"^def setUpModule\(", text, re.MULTILINE):
        loaded.run(_MODULE_FIXTURE)
    return loaded


def load_reduced(engine: str, path: str, seconds: float) -> tuple[Any, list[str]]:
    """Return an engine with a file, and the errors of the parts with which it does not load.

    Raises:
        Exception: the file does not load, and no part of it can be blamed.
    """
    text = program_text(Path(path).read_text("utf-8"))
    errors: list[str] = []
    while True:
        try:
            return load(engine, text, path, seconds), errors
        except BaseException as error:
            described, line = describe(error)
            shorter = without_line(text, line, described)
            if shorter is None or engine == "cpython":
                raise
        text = shorter
        errors.append(described)


def main() -> None:
    """Run one file's methods and print the answer."""
    engine, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing that needs a network, a display or a large machine.
    importlib.import_module("test.support").use_resources = []  # type: ignore[attr-defined]
    answer: dict[str, Any] = {}
    try:
        loaded, answer["removed"] = load_reduced(engine, path, seconds)
        answer["methods"] = {
            name: run_apart(functools.partial(run_method, loaded, name), _PATIENCE * seconds)
            for name in sys.argv[4:] or discover(loaded.space)
        }
    except BaseException as error:
        answer = {"error": describe(error)[0]}
    print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

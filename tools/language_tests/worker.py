"""One process that runs test methods of one file, in CPython or in the interpreter.

The first line of standard input is the request; see :func:`main`. Each answer is a line of JSON on
what was standard output when the process began. Tests print to nowhere.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import sys
import types
import unittest
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .programs import REMOVED, Removed, imported_modules, program_text, without_line

__all__ = ["main"]

FILENAME = "<language test>"
_MANY = 1 << 62

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
        self.line = 0

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
        if not self.error:
            self.error, self.line = describe(err[1])

    @property
    def passed(self) -> bool:
        return self.testsRun == 1 and not self.error


def describe(error: BaseException) -> tuple[str, int]:
    """Type and first line of an error, and the line of the program it left last."""
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
    return f"{type(error).__name__}: {(text.splitlines() or [''])[0]}"[:400], line


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


def discovered(space: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Class, method and its first line, of every test that the program itself defines.

    Methods inherited from a helper module are left out: they would run outside the interpreter.
    """
    found: list[tuple[str, str, int]] = []
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
                found.append((name, method, code.co_firstlineno))
    return found


def run_method(engine: Any, cls: str, method: str) -> dict[str, Any]:
    """Run one method in a loaded engine and say whether it passed, or the first error."""
    outcome = Outcome()
    try:
        engine.send("language_test_result", outcome)
        engine.run(_DRIVER.format(cls=cls, method=method))
    except BaseException as error:
        if not outcome.error:
            outcome.error, outcome.line = describe(error)
    text = outcome.error or ("" if outcome.passed else "no test ran")
    # A smaller line is one of the driver.
    line = outcome.line if outcome.line > _DRIVER.count("\n") else 0
    return {"passed": outcome.passed, "error": text, "line": line}


def load(request: dict[str, Any], text: str) -> Any:
    """Return an engine with the program run in it, and its ``setUpModule``."""
    engine = ENGINES[request["engine"]](text, request["path"], request["seconds"])
    if re.search(r"^def setUpModule\(", text, re.MULTILINE):
        engine.run(_MODULE_FIXTURE)
    return engine


def load_reduced(
    request: dict[str, Any], text: str, say: Callable[[dict[str, Any]], None]
) -> tuple[Any, list[Removed]]:
    """Return an engine with the file, less the parts with which it does not load, and these parts.

    Raises:
        Exception: the file does not load, and no part of it can be blamed.
    """
    removed: list[Removed] = []
    while True:
        try:
            return load(request, text), removed
        except BaseException as error:
            described, line = describe(error)
            part = blamed(removed, described, "", 0)
            reason = described if part is None else part.error
            shorter = without_line(text, line, reason, removed)
            if shorter is None:
                raise
        text, part = shorter
        removed.append(part)
        say({"removed": asdict(part)})


def blamed(removed: list[Removed], error: str, cls: str, line: int) -> Removed | None:
    """Return the removed part because of which a method cannot pass, if there is one.

    Args:
        removed: the parts.
        error: the method's error.
        cls: its class.
        line: its first line in the file.
    """
    for part in removed:
        if part.first <= line <= part.last:
            return part
    missing = re.match(r"NameError: name '(\w+)' is not defined", error)
    if missing is None:
        return None
    for part in removed:
        if missing[1] in part.names:
            return part
    return removed[-1] if removed and missing[1] == cls else None


def serve(request: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    """Answer one request; see :func:`main`."""
    text = program_text(Path(request["path"]).read_text("utf-8"))
    methods = request["methods"]
    removed: list[Removed] = []
    try:
        if request["whole"]:
            engine = load(request, text)
        else:
            engine, removed = load_reduced(request, text, say)
    except BaseException as error:
        described, line = describe(error)
        say({"load_error": described, "line": line})
        return
    if methods is None:
        methods = discovered(engine.space)
    say({"methods": methods})
    for cls, method, line in methods:
        say({"begin": [cls, method, line]})
        answer = run_method(engine, cls, method)
        if not answer["passed"]:
            part = blamed(removed, answer["error"], cls, line)
            if part is not None:
                answer.update(error=part.error, line=part.first)
        say({"end": [cls, method, line], **answer})


def main() -> None:
    """Serve the request on standard input.

    The request has ``engine`` (a key of ``ENGINES``), ``path`` of the test file, ``whole`` (load
    the file as it is, or without the parts with which it does not load), ``methods`` (class, name
    and first line of each, or null for all), ``seconds`` a run may take inside, and ``memory`` in
    bytes for the process.
    """
    request = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing that needs a network, a display or a large machine.
    importlib.import_module("test.support").use_resources = []  # type: ignore[attr-defined]
    serve(request, lambda answer: print(json.dumps(answer), file=answers))
    answers.flush()
    # Threads that a test left behind do not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()

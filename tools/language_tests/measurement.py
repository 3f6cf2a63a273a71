"""Runs one test file in both engines, in processes that may end or hang, and keeps the results."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..paths import ROOT

__all__ = ["FileResult", "MethodResult", "Settings", "measure"]

#: Class, method and the method's first line.
_Test = tuple[str, str, int]


@dataclass(frozen=True)
class Settings:
    """Resources that the processes may use.

    Args:
        seconds: wall-clock limit of one method inside the interpreter.
        patience: seconds without an answer after which a process is killed.
        memory: bytes of address space of one process.
    """

    seconds: float = 15.0
    patience: float = 40.0
    memory: int = 4 << 30


@dataclass
class MethodResult:
    """One test method inside the interpreter.

    Args:
        name: ``Class.method``.
        passed: whether it passed.
        error: type and first line of the first error.
        line: line of the test file where the error passed through the program last; 0 if unknown.
    """

    name: str
    passed: bool
    error: str = ""
    line: int = 0


@dataclass
class FileResult:
    """One test file.

    Args:
        name: of the file.
        baseline: methods that pass in CPython.
        not_counted: methods that do not pass in CPython, each with its error.
        whole_error: why the interpreter did not load the file as it is; empty if it did.
        removed: the parts without which it loaded; each is a ``programs.Removed``.
        methods: results inside, of the methods in ``baseline``.
        note: why there is nothing to count.
    """

    name: str
    baseline: list[str] = field(default_factory=list)
    not_counted: dict[str, str] = field(default_factory=dict)
    whole_error: str = ""
    removed: list[dict[str, Any]] = field(default_factory=list)
    methods: list[MethodResult] = field(default_factory=list)
    note: str = ""

    @property
    def kept(self) -> int:
        """Methods that pass inside."""
        return sum(method.passed for method in self.methods)

    def line(self) -> str:
        """Return the file's figures in a line."""
        total = len(self.baseline)
        if self.note:
            return f"{self.name:<30} {self.note}"
        text = f"{self.name:<30} {self.kept:>4} of {total:>4}  {self.kept / total:.2f}"
        if self.whole_error:
            text += f"  without {len(self.removed)} part(s) that it does not load with"
        return text


def measure(name: str, path: Path, settings: Settings) -> FileResult:
    """Run the tests of one file in CPython, then those that passed in the interpreter."""
    result = FileResult(name)
    base = _Runs("cpython", path, settings)
    load_error = base.run(None, whole=True)
    if load_error:
        result.note = f"does not load in CPython: {load_error}"
        return result
    for test, answer in base.answers.items():
        if answer["passed"]:
            result.baseline.append(".".join(test[:2]))
        else:
            result.not_counted[".".join(test[:2])] = answer["error"]
    if not result.baseline:
        result.note = "no test method of its own that passes (doctests are left out)"
        return result
    tests = [test for test, answer in base.answers.items() if answer["passed"]]
    inside = _Runs("inside", path, settings)
    result.whole_error = inside.run(tests, whole=True)
    failed = inside.run(tests, whole=False) if result.whole_error else ""
    result.removed = inside.removed
    for test in tests:
        answer = inside.answers.get(test, {"passed": False, "error": failed, "line": 0})
        result.methods.append(
            MethodResult(".".join(test[:2]), answer["passed"], answer["error"], answer["line"])
        )
    return result


class _Lines:
    """Lines of a pipe, each waited for no longer than a deadline."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def next(self, seconds: float) -> bytes | None:
        """Return the next line; empty at the pipe's end; ``None`` when none came in time."""
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = max(end - time.monotonic(), 0.0)
            if not select.select([self._descriptor], [], [], left)[0]:
                return None
            read = os.read(self._descriptor, 1 << 16)
            if not read:
                return b""
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"


class _Runs:
    """The processes of one engine for one file; a new one follows each that ended early."""

    def __init__(self, engine: str, path: Path, settings: Settings) -> None:
        self.engine, self.path, self.settings = engine, path, settings
        self.answers: dict[_Test, dict[str, Any]] = {}
        self.removed: list[dict[str, Any]] = []

    def run(self, tests: Sequence[_Test] | None, *, whole: bool) -> str:
        """Run ``tests``, or all; returns why the file could not be loaded, or nothing."""
        left = None if tests is None else list(tests)
        while left is None or left:
            self.removed = []
            known, load_error, last, end = self._process(left, whole)
            if load_error:
                return load_error
            if last is not None:
                self.answers[last] = {"passed": False, "error": end, "line": 0}
            elif end:
                return end  # before its first method
            left = [test for test in known if test not in self.answers]
            if last is None and left:
                return "the process ended between two methods"
        return ""

    def _process(
        self, tests: list[_Test] | None, whole: bool
    ) -> tuple[list[_Test], str, _Test | None, str]:
        """One process: the methods known, a load error, the method it ended in, and how."""
        known = list(tests or [])
        current: _Test | None = None
        request = {
            "engine": self.engine,
            "path": str(self.path),
            "whole": whole,
            "methods": tests,
            "seconds": self.settings.seconds,
            "memory": self.settings.memory,
        }
        with tempfile.TemporaryDirectory() as folder, self._start(folder) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                lines = _Lines(process.stdout.fileno())
                while True:
                    patience = self.settings.patience
                    line = lines.next(patience)
                    if line is None:
                        return known, "", current, f"over {patience:g} s without an answer"
                    if not line:
                        break
                    answer = json.loads(line)
                    if "load_error" in answer:
                        return known, answer["load_error"], None, ""
                    if "removed" in answer:
                        self.removed.append(answer["removed"])
                    elif "methods" in answer:
                        known = [_test(one) for one in answer["methods"]]
                    elif "begin" in answer:
                        current = _test(answer["begin"])
                    else:
                        self.answers[_test(answer["end"])] = answer
                        current = None
                code = process.wait(10)
            finally:
                process.kill()
        return known, "", current, _exit_text(code) if code or current else ""

    def _start(self, folder: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-B", "-W", "default", "-m", f"{__package__}.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        )


def _test(answer: list[Any]) -> _Test:
    cls, method, line = answer
    return cls, method, line


def _exit_text(code: int) -> str:
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with status {code}"

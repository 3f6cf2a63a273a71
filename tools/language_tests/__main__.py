"""Run CPython's own language tests inside the local interpreter, against a CPython baseline.

``python -m tools.language_tests`` takes the test package that the running Python installed
(``Lib/test``); nothing of it is kept in this repository. The source of each file in :mod:`.files`
runs as a program. Each test method then runs alone, in CPython and in the interpreter. The share
kept is the number of methods that pass inside, divided by the number that pass in CPython.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..command import clean_environment, run
from ..errors import CommandError
from ..paths import ROOT
from .files import FILES
from .programs import find_test_folder, test_file

__all__ = ["FileResult", "main", "measure"]

#: Wall-clock limit of one method inside the interpreter.
METHOD_SECONDS = 15.0
_FILE_SECONDS = 3600.0
#: ``--quick``: every so many-th file.
_QUICK_STEP = 5


@dataclass
class FileResult:
    """Results of one test file.

    Attributes:
        name: of the file.
        counted: methods that pass in CPython.
        failures: those of them that do not pass inside, each with its error.
        removed: errors of the parts without which the interpreter loads the file.
        note: why there is nothing to count.
    """

    name: str
    counted: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def kept(self) -> int:
        """Number of methods that pass inside."""
        return len(self.counted) - len(self.failures)

    def line(self) -> str:
        """Return the file's figures in a line."""
        if self.note:
            return f"{self.name:<30} {self.note}"
        total = len(self.counted)
        text = f"{self.name:<30} {self.kept:>4} of {total:>4}  {self.kept / total:.2f}"
        if self.removed:
            text += f"  without {len(self.removed)} part(s) that it does not load with"
        return text


def measure(name: str, path: Path, seconds: float = METHOD_SECONDS) -> FileResult:
    """Run the tests of one file in CPython and in the interpreter.

    Args:
        name: of the file.
        path: the file.
        seconds: that one run inside the interpreter may take.
    """
    baseline = _answer("cpython", path, seconds)
    if "error" in baseline:
        return FileResult(name, note=f"does not load in CPython: {baseline['error']}")
    counted = [test for test, error in baseline["methods"].items() if not error]
    if not counted:
        note = "no test method of its own that passes (doctests are left out)"
        return FileResult(name, note=note)
    inside = _answer("inside", path, seconds, *counted)
    errors = inside.get("methods") or dict.fromkeys(counted, inside["error"])
    failures = {test: error for test, error in errors.items() if error}
    return FileResult(name, counted, failures, inside.get("removed", []))


def _answer(engine: str, path: Path, seconds: float, *tests: str) -> dict[str, Any]:
    flags = ("-B", "-W", "default", "-m", f"{__package__}.worker")
    with tempfile.TemporaryDirectory() as folder:
        try:
            text = run(
                [sys.executable, *flags, engine, path, str(seconds), *tests],
                timeout_seconds=_FILE_SECONDS,
                cwd=Path(folder),
                env={**clean_environment(), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
            )
        except CommandError as error:
            return {"error": error.what}
    answer: dict[str, Any] = json.loads(text)
    return answer


def main() -> int:
    """Measure and print.

    Returns:
        0; 2 when there is nothing to measure with.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.language_tests", description=__doc__)
    parser.add_argument("files", nargs="*", help="names such as test_grammar; all by default")
    parser.add_argument("--quick", action="store_true", help="a fifth of the files")
    parser.add_argument("--failures", action="store_true", help="print every failed method, too")
    options = parser.parse_args()
    folder = find_test_folder()
    if folder is None:
        version = ".".join(platform.python_version_tuple()[:2])
        print(
            f"test-language: {sys.executable} has no package 'test'. Install it (Debian, Ubuntu: "
            f"libpython{version}-testsuite; Fedora: python3-test), or use a Python from "
            "python.org, pyenv or uv",
            file=sys.stderr,
        )
        return 2
    names = options.files or FILES[:: _QUICK_STEP if options.quick else 1]
    if unknown := [name for name in names if name not in FILES]:
        print(
            f"test-language: {', '.join(unknown)}: not listed in tools/language_tests/files.py",
            file=sys.stderr,
        )
        return 2
    started = time.monotonic()
    results = _measure_all(folder, names)
    if options.failures:
        for result in results:
            for method, error in result.failures.items():
                print(f"{result.name}: {method}: {error}")
    baseline = sum(len(result.counted) for result in results)
    kept = sum(result.kept for result in results)
    print(
        f"\n{kept} of {baseline} test methods kept: {kept / max(1, baseline):.3f} "
        f"(Python {platform.python_version()}, {len(results)} files, "
        f"{time.monotonic() - started:.0f} s)"
    )
    return 0


def _measure_all(folder: Path, names: Sequence[str]) -> list[FileResult]:
    """Return the results in the order of ``names``, each printed in its turn."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        paths = {name: test_file(folder, name) for name in names}
        futures = {name: pool.submit(measure, name, path) for name, path in paths.items() if path}
        for name in names:
            if name not in futures:
                print(f"{name:<30} not in this Python's test package", flush=True)
                continue
            results.append(futures[name].result())
            print(results[-1].line(), flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main())

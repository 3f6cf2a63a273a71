"""Read hostile programs and run them through one worker process.

Format of a file in ``programs/``::

    # hostile: name-of-the-program
    # imports: numpy, pandas    authorised beside the harmless modules of the case corpus
    # limit: why                it fights a limit, not a guard
    # ends: quietly why         it may end without an error, if its canary is not reached
    # executor: process why     nothing in-process stops it; the child-process executor does
    # memory: why               a MemoryError is an answer: nothing was allocated
    # weak: why                 plain CPython cannot show it reaching its canary
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "cases"))

from case_harness import AUTHORISED  # noqa: E402

PROGRAMS = HERE / "programs"
HARMLESS_MODULES = [name for name in AUTHORISED if name not in ("numpy", "pandas")]
TIMEOUT_SECONDS = 1.0
#: One second past the timeout is what is promised, and quiet, all keep it; twice that shows that a
#: program was stopped for its time on machines of other kinds, too.
LATEST_SECONDS = TIMEOUT_SECONDS + 2
#: Seconds after which a program is held to hang, whatever else the machine has to do.
HANGS_SECONDS = 30.0
#: The worker imports numpy and pandas first, perhaps from a cold disk.
STARTING_SECONDS = 300.0
#: Seconds that the worker may need for an answer beside the time its child is given.
ANSWERING_SECONDS = 120.0
LIMITS = {
    "timeout_seconds": TIMEOUT_SECONDS,
    "max_operations": 3_000_000,
    "max_while_iterations": 200_000,
    "max_recursion_depth": 400,
    "max_print_outputs_length": 10_000,
}


@dataclass(frozen=True)
class Program:
    """One hostile program and what is expected of it."""

    family: str
    name: str
    code: str
    line: int
    imports: tuple[str, ...] = ()
    limit: str = ""
    ends: str = ""
    executor: str = ""
    memory: str = ""
    weak: str = ""

    @property
    def id(self) -> str:
        return f"{self.family}::{self.name}"

    @property
    def modules(self) -> list[str]:
        return [*HARMLESS_MODULES, *self.imports]


def read_programs(path: Path) -> Iterator[Program]:
    """Every program of one file, in order."""
    chunks = re.split(r"^# hostile: *", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = chunks[0].count("\n") + 1
    for chunk in chunks[1:]:
        name, _, body = chunk.partition("\n")
        options: dict[str, Any] = {}
        while match := re.match(r"# (imports|limit|ends|executor|memory|weak): *(.*)\n", body):
            key, text = match.groups()
            options[key] = tuple(re.split(r", *", text)) if key == "imports" else text
            body = body[match.end() :]
        yield Program(path.stem, name.strip(), body.rstrip() + "\n", line, **options)
        line += chunk.count("\n")


def all_programs() -> list[Program]:
    return [p for path in sorted(PROGRAMS.glob("*.py")) for p in read_programs(path)]


class Worker:
    """The process that forks one child a program; started on first use, restarted if it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its answer, for the program's own deadline and long
        enough besides."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "hostile_worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            assert self._line(STARTING_SECONDS, "start") == {"ready": True}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._line(request["deadline"] + ANSWERING_SECONDS, request["code"])
        if "harness" in answer and request["mode"] == "weak":
            # Out of memory, as the program has left the process: it has shown nothing this time.
            return {**answer, "error": answer["harness"]}
        if "harness" in answer:
            raise RuntimeError(f"{answer['harness']} while running\n{request['code']}")
        return answer

    def _line(self, seconds: float, asked: str) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        # One line for one request: nothing is left in the buffer, which select() does not see.
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            self.close()
            raise TimeoutError(f"the hostile worker did not answer in {seconds:g} s: {asked}")
        if not (line := self._process.stdout.readline()):
            status = self._process.wait(30)
            self.close()
            raise RuntimeError(f"the hostile worker has ended, status {status}: {asked}")
        return json.loads(line)  # type: ignore[no-any-return]

    def ours(self, program: Program) -> dict[str, Any]:
        return self.run(
            {
                "mode": "ours",
                "code": program.code,
                "imports": program.modules,
                "limits": LIMITS,
                "deadline": HANGS_SECONDS,
            }
        )

    def weak(self, program: Program) -> dict[str, Any]:
        """Plain CPython; a limit program is given an alarm that it may catch, and if that ends
        it, none at all."""
        answer = self._weak(program, alarm=bool(program.limit))
        if program.limit and not answer["reached"]:
            answer = self._weak(program, alarm=False)
        return answer

    def _weak(self, program: Program, *, alarm: bool) -> dict[str, Any]:
        return self.run(
            {
                "mode": "weak",
                "code": program.code,
                "imports": program.modules,
                "limited": alarm,
                "deadline": 0.6 if program.limit else 8,
                "threads": 50,
            }
        )

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process = None

"""Runner of hostile programs in ``local`` and plain CPython in one worker; checks the results."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostile_table import Program

HERE = Path(__file__).parent
#: For a process without pytest's import path.
SHARED_HELPERS = os.pathsep.join([str(HERE.parent / "cases"), str(HERE.parents[1])])
TIMEOUT_SECONDS = 0.1
#: The same for a program that attacks a limit, which runs until it is stopped.
LIMIT_TIMEOUT_SECONDS = 0.05
#: The promise is one second past the timeout, which an idle machine keeps. Twice that also shows,
#: on other machines, that the time limit stopped a program.
LATEST_SECONDS = TIMEOUT_SECONDS + 2
#: Seconds after which a program counts as hanging, even on a busy machine.
HANGS_SECONDS = 30.0
#: The worker imports numpy and pandas first, perhaps from a cold disk.
STARTING_SECONDS = 300.0
#: Seconds that the worker may need for an answer in addition to its child's time.
ANSWERING_SECONDS = 120.0
LIMITS = {
    "timeout_seconds": TIMEOUT_SECONDS,
    "max_operations": 1_000_000,
    "max_while_iterations": 100_000,
    "max_recursion_depth": 400,
    "max_print_outputs_length": 10_000,
}
#: Reference version of Python, in which every program of the table reaches its canary.
REFERENCE = (3, 11)


def timeout_of(program: Program) -> float:
    """Return the time limit of a program, in seconds."""
    return LIMIT_TIMEOUT_SECONDS if program.limit else TIMEOUT_SECONDS


class Worker:
    """Process that forks children; started on first use, restarted if it dies.

    It runs in a separate folder, because programs write files.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._folder = tempfile.TemporaryDirectory(
            prefix="hostile-worker-", ignore_cleanup_errors=True
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """Return the working folder of the programs."""
        return Path(self._folder.name)

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its answer, longer than the programs' deadlines."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "hostile_worker.py")],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": SHARED_HELPERS},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            assert self._line(STARTING_SECONDS, "start") == {"ready": True}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        codes = request.get("probes") or [one["code"] for one in request["programs"]]
        asked = "\n".join(codes)
        answer = self._line(request["deadline"] * len(codes) + ANSWERING_SECONDS, asked)
        if "harness" in answer:
            raise RuntimeError(f"{answer['harness']} while running\n{asked}")
        return answer

    def _line(self, seconds: float, asked: str) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        # One line per request, so that no data remains in the buffer, which select() ignores.
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            self.close()
            raise TimeoutError(f"the hostile worker did not answer in {seconds:g} s: {asked}")
        if not (line := self._process.stdout.readline()):
            status = self._process.wait(30)
            self.close()
            raise RuntimeError(f"the hostile worker has ended, status {status}: {asked}")
        return json.loads(line)  # type: ignore[no-any-return]

    def batch(self, mode: str, programs: Sequence[Program], **options: Any) -> dict[str, Any]:
        """Run programs in sequence, in as few children as possible.

        Returns ``answers``, and the state that the programs of each child ``changed`` together.
        """
        requests = [
            {
                "code": program.code,
                "imports": program.modules,
                "limited": bool(program.limit),
                "limits": {**LIMITS, "timeout_seconds": timeout_of(program)},
            }
            for program in programs
        ]
        return self.run({"mode": mode, "programs": requests, "deadline": HANGS_SECONDS, **options})

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process = None


def local_faults(
    worker: Worker, programs: Sequence[Program], deadline: float = HANGS_SECONDS
) -> dict[Program, str]:
    """Find programs that `local` does not stop, and the reasons.

    Programs run in batches. A program with a fault is run again alone, and that result counts,
    except if it ended its child. A change of shared state is located by bisection.
    """
    faults: dict[Program, str] = {}
    try:
        answer = worker.batch("ours", programs, deadline=deadline)
    except RuntimeError as error:
        # One of them exhausted the memory of the process, or ended it.
        if len(programs) == 1:
            return {programs[0]: str(error).partition("\n")[0]}
        half = len(programs) // 2
        for part in (programs[:half], programs[half:]):
            faults.update(local_faults(worker, part, deadline))
        return faults
    for program, one in zip(programs, answer["answers"], strict=True):
        why = _fault(program, one, worker)
        if why and one["ended"] == "killed":
            faults[program] = why
        elif why:
            try:
                alone = worker.batch("ours", [program], deadline=deadline)
            except RuntimeError as error:
                faults[program] = str(error).partition("\n")[0]
                continue
            why = _fault(program, alone["answers"][0], worker) or _changes(alone)
            if why:
                faults[program] = why
    if answer["changed"]:
        faults.update(_halved(worker, [p for p in programs if p not in faults], deadline))
    return faults


def _halved(worker: Worker, programs: Sequence[Program], deadline: float) -> dict[Program, str]:
    """Find programs of a batch that, alone or together, change shared state."""
    if not programs:
        return {}
    changes = _changes(worker.batch("ours", programs, deadline=deadline))
    if not changes:
        return {}
    if len(programs) == 1:
        return {programs[0]: changes}
    half = len(programs) // 2
    parts = (programs[:half], programs[half:])
    found = {p: why for part in parts for p, why in _halved(worker, part, deadline).items()}
    return found or {programs[0]: f"together with the next {len(programs) - 1}: {changes}"}


def _changes(answer: dict[str, Any]) -> str:
    return f"changed {', '.join(answer['changed'][:10])}" if answer["changed"] else ""


def _fault(program: Program, answer: dict[str, Any], worker: Worker) -> str:
    """Return the fault in an answer of ``local``, or the empty string."""
    reached = [
        one for one in answer["reached"] if not (program.memory and one == "memory exhausted")
    ]
    if reached:
        return f"reached: {', '.join(reached)} {answer['error']}"[:1000]
    if answer["seconds"] > LATEST_SECONDS:
        return f"took {answer['seconds']:.1f} s with timeout_seconds={timeout_of(program)}"
    if answer["ended"] == "ok":
        if program.ends or _has_no_target(weak_answers(worker, [program])[0]):
            return ""
        return "no error, and the program is not marked 'ends'"
    return "" if answer["interpreter_error"] else f"not an InterpreterError: {answer['error']}"


def weak_answers(worker: Worker, programs: Sequence[Program]) -> list[dict[str, Any]]:
    """Return plain CPython's answers, with one child per program.

    A program that calls its canary after it swallows a limit gets an alarm that it can catch. A
    program without a canary, or one that the alarm ended, outlives any limit and gets no alarm.
    """
    alarmed = [p for p in programs if "trip(" in p.code or not p.limit]
    answers = dict(_weak(worker, alarmed, alarm=True))
    rest = [p for p in programs if p not in answers or (p.limit and not answers[p]["reached"])]
    answers.update(_weak(worker, rest, alarm=False))
    return [answers[program] for program in programs]


def _weak(
    worker: Worker, programs: Sequence[Program], alarm: bool
) -> list[tuple[Program, dict[str, Any]]]:
    if not programs:
        return []
    answer = worker.batch("weak", programs, deadline=8.0, alarm=alarm)
    return list(zip(programs, answer["answers"], strict=True))


def _has_no_target(answer: dict[str, Any]) -> bool:
    """Return whether another version of CPython, or other packages, stops the program."""
    return sys.version_info[:2] != REFERENCE and not answer["reached"]

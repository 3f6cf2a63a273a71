"""Runs inside Pyodide: the case corpus and the hostile programs, with one JSON line a program.

There is no child process in Wasm: every hostile program runs in this one interpreter, and what it
changed stays. So a breach is reported for the first program that made it.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Seconds a hostile program has: the suite's second would add up to minutes.
SECONDS = 0.3
sys.path[:0] = [str(HERE), str(HERE / "tests/cases"), str(HERE / "tests/hostile")]


def report(**line: Any) -> None:
    print("RESULT " + json.dumps(line), flush=True)


def run_cases(step: int, without: list[str]) -> None:
    """Each program in Pyodide's CPython and in the fork's interpreter on it."""
    import case_harness

    for case in case_harness.all_cases()[::step]:
        reason = case.skip_reason()
        if case.family == "async_programs" or "asyncio" in case.code:
            reason = "Pyodide has one event loop, which belongs to the page"
        if "numpy" in case.code or "pandas" in case.code:
            reason = "not in the archive"
        if case.id in without:
            continue
        if reason:
            report(part="cases", id=case.id, skip=reason)
            continue
        print(f"START {case.id}", flush=True)
        expected = case_harness.run_reference(case.code)
        got = case_harness.run_ours(case.code)
        if not case.compare_value:
            same = (got.printed, got.error, got.line) == (
                expected.printed,
                expected.error,
                expected.line,
            )
        else:
            same = got == expected
        report(part="cases", id=case.id, ok=same, want=repr(expected), got=repr(got))


def run_hostile(step: int, without: list[str]) -> None:
    """Each program that fights a guard or a limit in-process; canaries as in the child-process
    suite."""
    import hostile_canary
    import hostile_harness
    import hostile_table

    from smolagents_fork.errors import InterpreterError
    from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

    limits = RunLimits(**{**hostile_harness.LIMITS, "timeout_seconds": SECONDS})
    for name in hostile_table.HARMLESS_MODULES:
        with contextlib.suppress(ImportError):
            __import__(name)
    for program in hostile_table.all_programs()[::step]:
        if program.id in without:
            continue
        if program.local or program.imports or "asyncio" in program.code:
            report(
                part="hostile", id=program.id, skip=program.local or "needs what Pyodide has not"
            )
            continue
        hostile_canary.TRIPPED.clear()
        before = hostile_canary.fingerprint()
        print(f"START {program.id}", flush=True)
        interpreter = Interpreter(
            additional_authorized_imports=tuple(hostile_table.HARMLESS_MODULES),
            limits=limits,
        )
        interpreter.send_tools(hostile_canary.tools())
        interpreter.send_variables(hostile_canary.variables())
        started = time.monotonic()
        shown, ended, fault = "", "ok", ""
        try:
            result = interpreter.run(program.code)
            shown = f"{result.logs}{result.output!r}"
        except InterpreterError as error:
            shown, ended = str(error), "error"
            if isinstance(error.__cause__, MemoryError) and not program.memory:
                fault = "memory exhausted"
        except BaseException as error:
            fault = f"no InterpreterError: {type(error).__name__}: {error}"
        seconds = time.monotonic() - started
        reached = list(hostile_canary.TRIPPED) + ([fault] if fault else [])
        if hostile_canary.SECRET in shown:
            reached.append("secret shown")
        reached += [
            f"changed {n}" for n in hostile_canary.changed(before, hostile_canary.fingerprint())
        ]
        if ended == "ok" and not program.ends and not reached:
            reached.append("ended quietly")
        # Wasm is several times slower, on a busy machine many times; what counts is that it ends.
        if seconds > 4 * hostile_harness.HANGS_SECONDS:
            reached.append(f"took {seconds:.1f} s")
        report(part="hostile", id=program.id, ok=not reached, reached=reached, shown=shown[:200])


def main(parts: str, without: list[str]) -> None:
    """Run the programs of ``parts``, each "cases" or "hostile" with the step between two programs.

    All hostile programs run on this machine's own CPython, three ways.
    """
    warnings.simplefilter("ignore")
    report(python=sys.version.split()[0])
    for part in parts.split():
        name, _, step = part.partition("=")
        {"cases": run_cases, "hostile": run_hostile}[name](int(step), without)
    report(done=True)

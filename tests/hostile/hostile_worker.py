"""Worker that runs hostile programs in forked children with a deadline and a memory limit each.

It writes ``{"ready": true}`` after its imports, and then exchanges JSON lines: ``{"mode",
"deadline", "programs": [{"code", "imports", "limits", "limited"}]}`` in, ``{"answers": [{"reached",
"error", "seconds", "ended"}], "changed"}`` out. ``mode`` is ``ours`` (the interpreter; one child
for them all, as long as it lives) or ``weak`` (plain ``exec`` with all built-ins, and a limit that
programs can catch: it tests the tests; one child each). A program that is alive at its deadline is
killed and counts as having outlived its limit. ``seconds`` is its run time without the time in
which other processes used the processor. ``changed`` names the shared state that a child's programs
changed. With ``probes`` instead of ``programs``, see ``run_probes``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import math
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import case_harness
import hostile_canary

MEMORY_BYTES = 768 * 2**20
#: Seconds within which the threads of a program must end after its run.
THREADS_GONE_SECONDS = 10.0
WEAK_LIMIT_SECONDS = 0.05
#: A limit program that plain CPython still runs after this time has outlived the limit.
WEAK_DEADLINE_SECONDS = 0.12


class WeakLimit(Exception):
    """Limit of the weak mode: raised once in the program, which can catch it."""


def limit_memory() -> Any:
    """Limit address space to the current size plus ``MEMORY_BYTES``.

    Returns a function that removes the limit.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return lambda: None
    with open("/proc/self/statm", encoding="ascii") as status:
        now = int(status.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_BYTES, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def run_weak(code: str, limited: bool) -> tuple[str, BaseException | None]:
    """Run the program in plain CPython, with tools and every builtin.

    Limit programs get an alarm that they can catch.
    """
    import asyncio  # noqa: F401 - what an ordinary host has loaded already

    space: dict[str, Any] = {
        "__name__": "__main__",
        **hostile_canary.tools(),
        **hostile_canary.variables(),
    }
    printed = io.StringIO()

    running = True

    def alarm(_signal: int, _frame: Any) -> None:
        if running:
            raise WeakLimit("weak limit")

    if limited:
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, WEAK_LIMIT_SECONDS)
    error: BaseException | None = None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, "<weak>", "exec", dont_inherit=True), space)
            running = False
        except BaseException as raised:
            running = False
            error = raised
    signal.setitimer(signal.ITIMER_REAL, 0)
    shown = printed.getvalue()
    with contextlib.suppress(Exception):
        shown += repr({k: v for k, v in space.items() if k != "__builtins__"})
    return shown, error


def make_interpreter(request: dict[str, Any]) -> Any:
    """Make the fork's interpreter for a program or for probes, with the canary's tools."""
    from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

    interpreter = Interpreter(
        additional_authorized_imports=tuple(request["imports"]),
        limits=RunLimits(**request["limits"]),
        extra_dunders=request.get("extra_dunders", []),
    )
    interpreter.send_tools(hostile_canary.tools())
    interpreter.send_variables(hostile_canary.variables())
    return interpreter


def run_ours(program: dict[str, Any]) -> tuple[str, BaseException | None]:
    """Run the program in the fork's interpreter; other errors are faults."""
    interpreter = make_interpreter(program)
    try:
        result = interpreter.run(program["code"])
    except BaseException as error:
        return words(error) + words(getattr(error, "logs", "")), error
    try:
        return f"{result.logs}{result.output!r}", None
    except Exception:
        return words(result.logs), None  # its words are too long for Python, or the program's own
    except BaseException as error:
        return words(result.logs), error  # the end of whoever shows the value


def words(value: object) -> str:
    """Return ``str(value)``, whose class a program may define."""
    try:
        return str(value)
    except BaseException as error:
        return f"<{type(value).__name__} whose words raise {type(error).__name__}>"


def run_probes(request: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run many short programs in one interpreter; say which begins; stop at the first fault.

    Policy may refuse a program before it runs, which would hide other probes in it. Hence each
    probe is a separate program.
    """
    from smolagents_fork.errors import InterpreterError

    weak = request["mode"] == "weak"
    space: dict[str, Any] = {**hostile_canary.tools(), **hostile_canary.variables()}
    space["__name__"] = "__main__"

    interpreter = make_interpreter(request)
    before = hostile_canary.fingerprint()
    ran = 0
    for probe in [request["prelude"], *request["probes"]]:
        say({"begins": probe})
        shown, why = "", ""
        printed = io.StringIO()
        try:
            if weak:
                with contextlib.redirect_stdout(printed):
                    exec(compile(probe, "<weak>", "exec", dont_inherit=True), space)
                shown = printed.getvalue()
            else:
                result = interpreter.run(probe)
                shown = f"{result.logs}{result.output!r}"
        except InterpreterError as error:
            shown = f"{error}"
            if isinstance(error.__cause__, MemoryError):
                why = "memory exhausted"
        except BaseException as error:
            why = "" if weak else f"no InterpreterError: {type(error).__name__}: {error}"
        if hostile_canary.SECRET in shown:
            hostile_canary.TRIPPED.append("secret shown")
        if os.environ.get("HOSTILE_CANARY"):
            hostile_canary.TRIPPED.append("environment")
        if hostile_canary.TRIPPED or why:
            reached = [*hostile_canary.TRIPPED, *([why] if why else [])]
            return {"reached": reached, "probe": probe, "ran": ran}
        ran += 1
    changes = hostile_canary.changed(before, hostile_canary.fingerprint())
    reached = [f"changed {name}" for name in changes if name not in hostile_canary.LIBRARY_SETTINGS]
    return {"reached": reached, "probe": "", "ran": ran}


def child(request: dict[str, Any], numbers: list[int], out: int) -> None:
    """Run programs, or the probes, and write a result line for each to ``out``."""

    def say(line: dict[str, Any]) -> None:
        os.write(out, json.dumps(line).encode() + b"\n")

    sys.stdout = sys.stderr = io.StringIO()
    warnings.simplefilter("ignore")
    lift = limit_memory()
    if "probes" in request:
        hostile_canary.TRIPPED.clear()
        answer = run_probes(request, say)
        lift()
        say(answer)
        return
    before = hostile_canary.fingerprint()
    for number in numbers:
        say({"begins": number})
        say({"ends": number, **run_one(request, request["programs"][number])})
    lift()
    say({"changed": hostile_canary.changed(before, hostile_canary.fingerprint())})


def run_one(request: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """Run one program in this process."""
    hostile_canary.TRIPPED.clear()
    weak = request["mode"] == "weak"
    clock = Clock()
    if weak:
        shown, error = run_weak(program["code"], program["limited"] and request.get("alarm", True))
    else:
        shown, error = run_ours(program)
    seconds = clock.seconds()
    reached = list(hostile_canary.TRIPPED)
    told = "" if error is None else words(error)
    if hostile_canary.SECRET in shown + told:
        reached.append("secret shown")
    if os.environ.pop("HOSTILE_CANARY", None):
        reached.append("environment")
    causes = []
    link = error
    while link is not None and len(causes) < 10:  # a program's chain may be circular
        causes.append(type(link).__name__)
        link = link.__cause__
    # Without memory, repeating a deque sometimes raises a SystemError instead (CPython 3.11), with
    # the message "error return without exception set".
    if {"MemoryError", "SystemError"} & set(causes):
        reached.append("memory exhausted")
    if not threads_gone(51 if weak else 1):
        reached.append("a thread is left behind")
    return {
        "reached": reached,
        "ended": "ok" if error is None else "error",
        "error": "" if error is None else f"{type(error).__name__}: {told}"[:2000],
        "interpreter_error": _is_interpreter_error(error),
        "seconds": seconds,
    }


class Clock:
    """Run time of a program from now on, as on an idle machine.

    The time in which this thread was ready but did not run, as reported by the kernel, is
    subtracted. The kernel does not report it for threads that have ended; if such threads worked,
    processor time counts instead.
    """

    def __init__(self) -> None:
        self._start = self._now()

    def _now(self) -> tuple[float, float, float, float]:
        try:
            with open("/proc/thread-self/schedstat", encoding="ascii") as file:
                ready = int(file.read().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            ready = math.nan
        return time.monotonic(), ready, time.process_time(), time.thread_time()

    def seconds(self) -> float:
        """Return the seconds since the clock was created."""
        wall, ready, work, own = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return work if math.isnan(ready) or work - own > 0.05 else wall - ready


def threads_gone(most: int) -> bool:
    """Wait a limited time; return whether at most ``most`` threads are left."""
    import threading

    end = time.monotonic() + THREADS_GONE_SECONDS
    while threading.active_count() > most and time.monotonic() < end:
        time.sleep(0.005)
    return threading.active_count() <= most


def _is_interpreter_error(error: BaseException | None) -> bool:
    from smolagents_fork.errors import InterpreterError

    return isinstance(error, InterpreterError)


def end_with(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` ends, as when a test run is killed."""
    if not sys.platform.startswith("linux"):
        return
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before the call


def serve_one(request: dict[str, Any]) -> dict[str, Any]:
    """Run all programs of a request, in as many children as necessary."""
    if "probes" in request:
        lines, status = serve_child(request, [])
        last_line = lines[-1] if lines else {"begins": ""}
        if "begins" not in last_line:
            return last_line
        probe = last_line["begins"]
        return {"reached": [_death(status)], "probe": probe, "ran": len(lines[:-1])}
    answers: dict[int, dict[str, Any]] = {}
    changed: list[str] = []
    left = list(range(len(request["programs"])))
    while left:
        numbers = left[:1] if request["mode"] == "weak" else left
        lines, status = serve_child(request, numbers)
        begun = [line["begins"] for line in lines if "begins" in line]
        answers.update({line["ends"]: line for line in lines if "ends" in line})
        ended = [line["changed"] for line in lines if "changed" in line]
        changed += ended[0] if ended else ["what was not compared: a child has ended"]
        if "harness" in (lines or [{}])[-1]:
            return lines[-1]
        last = begun[-1] if begun else numbers[0]
        if last not in answers or (request["mode"] == "weak" and not ended):
            answers.setdefault(last, {"ended": "killed", "error": "", "reached": []})
            answers[last]["reached"].append(_death(status))
            answers[last].setdefault("seconds", 0.0)
        elif request["mode"] == "weak" and ended[0]:
            answers[last]["reached"] += [f"changed {name}" for name in ended[0]]
        left = [number for number in left if number not in answers]
    order = range(len(request["programs"]))
    return {"answers": [answers[number] for number in order], "changed": changed}


def _death(status: int | None) -> str:
    # Without the bit that tells of a written core.
    return "outlived its limit" if status is None else f"crashed, status {status & ~0x80}"


def serve_child(
    request: dict[str, Any], numbers: list[int]
) -> tuple[list[dict[str, Any]], int | None]:
    """Fork, and read lines until the child ends or a program exceeds its time.

    Returns:
        The lines, and the child's status; no status if it was killed at a deadline.
    """
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            end_with(parent)
            # A program that gets a shell writes there; the answers go elsewhere.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os.setsid()
            child(request, numbers, writer)
        except WeakLimit:
            pass  # between the program's end and the line that stops the alarm
        except BaseException as error:
            with contextlib.suppress(BaseException):
                if request["mode"] != "weak":
                    os.write(writer, json.dumps({"harness": repr(error)}).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    data = b""
    seconds = request["deadline"]
    if request["mode"] == "weak" and numbers and request["programs"][numbers[0]]["limited"]:
        seconds = WEAK_DEADLINE_SECONDS
    late = False
    while True:
        ready, _, _ = select.select([reader], [], [], seconds)
        if not ready:
            late = True
            break
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        data += chunk
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    lines = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return lines, None if late else status


def main() -> None:
    for name in request_preloads():
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.freeze()  # so that no child collects, and thereby copies, this process's objects
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        answer = serve_one(json.loads(line))
        print(json.dumps(answer), flush=True)


def request_preloads() -> list[str]:
    """Import modules once, which saves their import time in each child; return their names."""
    return [
        *case_harness.AUTHORISED,
        "smolagents_fork.interpreter",
        "subprocess",
        "ctypes",
        "pickle",
    ]


if __name__ == "__main__":
    main()

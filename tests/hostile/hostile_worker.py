"""Runs hostile programs, each in a forked child with a deadline and a memory ceiling.

Says ``{"ready": true}`` when it has imported what it needs, and then speaks JSON lines: ``{"code",
"imports", "mode", "limits", "deadline"}`` in, ``{"reached", "error", "causes", "seconds",
"ended"}`` out. ``mode`` is ``ours`` (the interpreter) or ``weak`` (plain ``exec`` with everything,
and a limit that programs may catch: the test of the tests). A child that is alive at its deadline
is killed and counts as having outlived its limit. ``seconds`` is what the program took without the
time for which other processes had the processor.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import math
import os
import select
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "cases"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import case_harness
import hostile_canary

MEMORY_BYTES = 768 * 2**20
#: A program's threads end with its run; how long, in seconds, the last of them may need to be gone.
THREADS_GONE_SECONDS = 10.0
WEAK_LIMIT_SECONDS = 0.15


class WeakLimit(Exception):
    """The limit of the weak mode: raised once, in the program, where it can be caught."""


def limit_memory() -> Any:
    """Lower this process's address space to what it has plus ``MEMORY_BYTES``; gives a function
    that lifts it."""
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
    """The program in plain CPython, with tools and every builtin; for limit programs, a
    catchable alarm."""
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


def run_ours(
    code: str, imports: list[str], limits: dict[str, Any], extra_dunders: list[str]
) -> tuple[str, BaseException | None]:
    """The program in the fork's interpreter; anything but an ``InterpreterError`` is a fault of
    its own."""
    from smolagents_fork.interpreter import Interpreter, Limits

    interpreter = Interpreter(
        additional_authorized_imports=tuple(imports),
        limits=Limits(**limits),
        extra_dunders=extra_dunders,
    )
    interpreter.send_tools(hostile_canary.tools())
    interpreter.send_variables(hostile_canary.variables())
    try:
        result = interpreter.run(code)
    except BaseException as error:
        return str(error) + str(getattr(error, "logs", "")), error
    return f"{result.logs}{result.output!r}", None


def run_probes(request: dict[str, Any]) -> dict[str, Any]:
    """Many short programs in one interpreter, in turn; stops at the first that is at fault.

    A program that policy refuses before it runs would hide the probes beside it, hence one
    program a probe.
    """
    from smolagents_fork.errors import InterpreterError
    from smolagents_fork.interpreter import Interpreter, Limits

    weak = request["mode"] == "weak"
    space: dict[str, Any] = {**hostile_canary.tools(), **hostile_canary.variables()}
    space["__name__"] = "__main__"
    interpreter = Interpreter(
        additional_authorized_imports=tuple(request["imports"]),
        limits=Limits(**request["limits"]),
        extra_dunders=request.get("extra_dunders", []),
    )
    interpreter.send_tools(hostile_canary.tools())
    interpreter.send_variables(hostile_canary.variables())
    before = hostile_canary.fingerprint()
    ran = 0
    stop_at = time.monotonic() + request["deadline"] - 2.5
    for probe in [request["prelude"], *request["probes"]]:
        if time.monotonic() > stop_at:
            break
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
    return {"reached": [f"changed {name}" for name in changes], "probe": "", "ran": ran}


def child(request: dict[str, Any], out: int) -> None:
    """Run one program and write the verdict to ``out``."""
    if "probes" in request:
        sys.stdout = sys.stderr = io.StringIO()
        warnings.simplefilter("ignore")
        hostile_canary.TRIPPED.clear()
        lift = limit_memory()
        answer = run_probes(request)
        lift()
        os.write(out, json.dumps(answer).encode())
        return
    sys.stdout = sys.stderr = io.StringIO()
    warnings.simplefilter("ignore")
    hostile_canary.TRIPPED.clear()
    lift = limit_memory()
    before = hostile_canary.fingerprint()
    clock = Clock()
    if request["mode"] == "weak":
        shown, error = run_weak(request["code"], request.get("limited", False))
    else:
        shown, error = run_ours(
            request["code"], request["imports"], request["limits"], request.get("extra_dunders", [])
        )
    seconds = clock.seconds()
    lift()
    reached = list(hostile_canary.TRIPPED)
    if hostile_canary.SECRET in shown + str(error):
        reached.append("secret shown")
    if os.environ.get("HOSTILE_CANARY"):
        reached.append("environment")
    reached += [
        f"changed {name}" for name in hostile_canary.changed(before, hostile_canary.fingerprint())
    ]
    causes = []
    link = error
    while link is not None:
        causes.append(type(link).__name__)
        link = link.__cause__
    # Where memory ends, deque's repetition now and then forgets to say so (CPython 3.11): its
    # SystemError has the words "error return without exception set".
    if {"MemoryError", "SystemError"} & set(causes):
        reached.append("memory exhausted")
    if not threads_gone(1 + request.get("threads", 0)):
        reached.append("a thread is left behind")
    answer = {
        "reached": reached,
        "ended": "ok" if error is None else "error",
        "error": "" if error is None else f"{type(error).__name__}: {error}"[:2000],
        "causes": causes,
        "interpreter_error": _is_interpreter_error(error),
        "seconds": seconds,
        "shown": shown[:500],
    }
    os.write(out, json.dumps(answer).encode())


class Clock:
    """Time that a program takes, from now on, as on a machine that has nothing else to do.

    From it is taken what the kernel says this thread was ready and not run. Of other threads it
    says nothing once they have ended: where they have worked, processor time is what counts.
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
        """Seconds since the clock was made."""
        wall, ready, work, own = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return work if math.isnan(ready) or work - own > 0.05 else wall - ready


def threads_gone(most: int) -> bool:
    """Whether no more than ``most`` threads are left, within a while."""
    import threading

    end = time.monotonic() + THREADS_GONE_SECONDS
    while threading.active_count() > most and time.monotonic() < end:
        time.sleep(0.005)
    return threading.active_count() <= most


def _is_interpreter_error(error: BaseException | None) -> bool:
    from smolagents_fork.errors import InterpreterError

    return isinstance(error, InterpreterError)


def end_with(parent: int) -> None:
    """Let the kernel kill this process when ``parent`` ends, as when a test run is killed."""
    if not sys.platform.startswith("linux"):
        return
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it ended before it could be said


def serve_one(request: dict[str, Any]) -> dict[str, Any]:
    """Fork, wait until the deadline, kill what is left, and report."""
    reader, writer = os.pipe()
    started = time.monotonic()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            end_with(parent)
            os.setsid()
            child(request, writer)
        except WeakLimit:
            # Between the program's end and the line that stops the alarm.
            os.write(writer, json.dumps({"reached": [], "ended": "error", "error": ""}).encode())
        except BaseException as error:
            with contextlib.suppress(BaseException):
                os.write(writer, json.dumps({"harness": repr(error), "reached": []}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    data = b""
    deadline = started + request["deadline"]
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([reader], [], [], max(left, 0))
        if not ready:
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
    if data:
        with contextlib.suppress(ValueError):
            return json.loads(data)  # type: ignore[no-any-return]
    seconds = time.monotonic() - started
    if time.monotonic() >= deadline:
        return {
            "reached": ["outlived its limit"],
            "ended": "killed",
            "error": "",
            "seconds": seconds,
        }
    return {
        "reached": [f"crashed, status {status}"],
        "ended": "crashed",
        "error": "",
        "seconds": seconds,
    }


def main() -> None:
    for name in request_preloads():
        with contextlib.suppress(ImportError):
            __import__(name)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        answer = serve_one(json.loads(line))
        print(json.dumps(answer), flush=True)


def request_preloads() -> list[str]:
    """Modules loaded once here, so that each child starts with them: it saves their import time
    per program."""
    return [
        *case_harness.AUTHORISED,
        "smolagents_fork.interpreter",
        "subprocess",
        "ctypes",
        "pickle",
    ]


if __name__ == "__main__":
    main()

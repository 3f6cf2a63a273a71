"""Runner of hostile programs in child processes, where only the kernel and the host protect.

Every program has its own child. The state of the host is compared once per
part of the table; a difference is located by bisection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import attacks
import hostile_canary
import numpy  # noqa: F401 - what decoding a value would import, and no program be blamed for
import pandas  # noqa: F401
import pytest
from confined_attacks import preloading
from host_watch import HostWatch, open_things
from hostile_harness import timeout_of
from hostile_table import Program

from smolagents_fork.errors import ForkError
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.process.child import Child

GRACE_SECONDS = 0.05
#: Time limit for calls that are not hostile, long enough for a busy machine.
HANGS_SECONDS = 30.0
#: Path to which the programs of the table write, replaced by a unique name.
SHARED_NAME = "/tmp/hostile-canary"
OPTIONS: dict[str, Any] = {
    "timeout_seconds": HANGS_SECONDS,
    "interrupt_grace_seconds": GRACE_SECONDS,
    "memory": "512m",
    "file_size": "64m",
    "max_value_bytes": 1 << 20,
    "max_print_outputs_length": 100_000,
    "max_tool_calls": 1_000,
}
#: Variables of the host, which are values in its child.
PRELUDE = """
class Thing:
    kind = "thing"
    def __init__(self):
        self.size = 3
    def grow(self, by=1):
        self.size += by
        return self.size
    def fail(self):
        raise ValueError("refused")
thing = Thing()
"""


class Recorder:
    """Tools of the host, with a record of their calls."""

    def __init__(self) -> None:
        #: ``idle`` between runs; in a run ``running`` until it is ``stopped`` or ``answered``.
        self.phase = "idle"
        self.calls: list[tuple[str, str, str]] = []
        self.printed: list[str] = []

    def begin(self) -> None:
        """Record that a run begins."""
        self.calls.clear()
        self.printed.clear()
        self.phase = "running"

    def stop(self) -> None:
        """Record that the host has begun to stop the run."""
        if self.phase == "running":
            self.phase = "stopped"

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Return the canary's tools by name."""
        return {name: self._recorded(name, tool) for name, tool in hostile_canary.tools().items()}

    def _recorded(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, repr([*given, *named.values()])[:10_000], self.phase))
            if name == "final_answer":
                self.phase = "answered"
            return tool(*given, **named)

        return call

    def too_late(self) -> list[str]:
        """Return calls after the end of their run."""
        return [f"{name}({given:.50}) was called when {phase}"
                for name, given, phase in self.calls if phase != "running"]  # fmt: skip


class ProcessHost:
    """Host with one running executor, its tools and the resources that programs attack."""

    def __init__(self) -> None:
        #: Programs that made every attempt of plain CPython.
        self.assaults = 0
        self.recorder = Recorder()
        self._patches = pytest.MonkeyPatch()
        self._preloading = contextlib.ExitStack()
        self.watch = HostWatch()
        self._record_stops()
        self._preloading.enter_context(preloading("raw_calls", "plain_child"))
        with self.watch.own_folders():
            self.executor = ProcessExecutor(
                ["*"],
                on_output=self.recorder.printed.append,
                **OPTIONS,
            )
        self.executor.send_tools(self.recorder.tools())
        self.executor.send_variables({"HOST": self.watch.facts()})
        self.executor(PRELUDE + "search()")  # starts the thread for tools

    def __enter__(self) -> ProcessHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child and release all resources."""
        try:
            self.executor.cleanup()
        finally:
            self._patches.undo()
            self._preloading.close()
            self.watch.close()

    def _record_stops(self) -> None:
        def recorded(method: Callable[..., None]) -> Callable[..., None]:
            def record(child: Child, *run: int) -> None:
                self.recorder.stop()
                method(child, *run)

            return record

        for name in ("interrupt", "kill"):
            self._patches.setattr(Child, name, recorded(getattr(Child, name)))

    def check(self, programs: Sequence[Program]) -> None:
        """Run programs; fail with the text of each program that reached something."""
        faults = self.faults(programs)
        assert not faults, "\n".join(f"{why}\n{p.shown()}" for p, why in faults.items())

    def faults(self, programs: Sequence[Program]) -> dict[Program, str]:
        """Find programs that are not confined, and the reasons."""
        faults: dict[Program, str] = {}
        self._compared(programs, faults)
        return faults

    def _compared(self, programs: Sequence[Program], faults: dict[Program, str]) -> None:
        """Run programs; if the host's state changed, find the responsible program."""
        self._renew()  # the executor of a killed child has neither a child nor sockets
        things, before = open_things(), self._state()
        found = {program: why for program in programs if (why := self._fault(program))}
        faults.update(found)
        self._renew()
        changes = hostile_canary.changed(before, self._state())
        changes += self.watch.left_behind(self.executor.folder, self.executor.pid)
        now = open_things()
        changes += [f"{now[n] - things[n]} {n} more" for n in things if now[n] > things[n]]
        if not changes:
            return
        if len(programs) == 1:
            faults[programs[0]] = f"{faults.get(programs[0], '')} changed: {', '.join(changes)}"
            return
        half = len(programs) // 2
        known = len(faults)
        for part in (programs[:half], programs[half:]):
            self._compared(part, faults)
        if len(faults) == known and not found:
            faults[programs[0]] = f"with the next {len(programs) - 1}: {', '.join(changes)}"

    def _state(self) -> dict[str, Any]:
        return {**self.watch.snapshot(), **hostile_canary.fingerprint()}

    def _renew(self) -> None:
        self.executor.restart()
        if self.executor.pid is not None:
            self.watch.children.add(self.executor.pid)

    def _limit(self, seconds: float) -> None:
        """Let later calls run for ``seconds``."""
        options = dataclasses.replace(self.executor.options, timeout_seconds=seconds)
        self.executor.options = self.executor._session.limits = options

    def _fault(self, program: Program) -> str:
        """Run one program in a new child; return its fault, or the empty string."""
        faults = []
        self._renew()
        self.executor(PRELUDE)
        code = program.code.replace(SHARED_NAME, f"/tmp/{self.watch.marker}")
        self.recorder.begin()
        self._limit(timeout_of(program))
        started = time.monotonic()
        shown = ""
        try:
            output = self.executor(code).output
            with contextlib.suppress(ValueError):  # an int of many digits
                shown = repr(output)
        except ForkError as error:
            shown = str(error)
        except BaseException as error:
            faults.append(f"raised {type(error).__name__}, which is not an error of the executor")
        finally:
            self.recorder.phase = "idle"
            self._limit(HANGS_SECONDS)
        if (seconds := time.monotonic() - started) > HANGS_SECONDS:
            faults.append(f"took {seconds:.1f} s")
        printed = "".join(self.recorder.printed)
        self.assaults += attacks.ASSAULT_MADE in printed
        faults += self.recorder.too_late()
        if hostile_canary.SECRET in f"{shown}{printed}{self.recorder.calls}":
            faults.append("the secret came out")
        faults += [line for line in f"{printed}\n{shown}".splitlines() if attacks.REACHED in line]
        if program.outside and any(name == "trip" for name, _, _ in self.recorder.calls):
            faults.append(f"reached {program.outside}")
        return "; ".join(faults)

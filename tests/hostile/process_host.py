"""Run hostile programs in child processes, through the interpreter or without it, and judge.

``plain`` puts plain CPython in the place of the interpreter (``plain_child.py``), so that what
holds is the kernel's and the host's alone. Every program has a child of its own, and what the host
has is compared once a part of the table; a difference is looked for by halves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hostile_canary
import numpy  # noqa: F401 - what decoding a value would import, and no program be blamed for
import pandas  # noqa: F401
import plain_marks
import pytest
from host_watch import HostWatch, open_things
from hostile_harness import timeout_of
from hostile_table import Program, all_programs

from smolagents_fork.errors import ForkError
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.executors.process import process_executor as product
from smolagents_fork.process.child import Child
from smolagents_fork.process.sandbox_paths import Layout

HERE = Path(__file__).parent
GRACE_SECONDS = 0.05
#: For calls that are not hostile, and for what may take as long as a busy machine needs.
HANGS_SECONDS = 30.0
#: Where the programs of the table write; here, a name that nobody else uses.
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
#: A variable of the host is a value in its child: what programs find there.
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
    """The tools of the host, and when each was called."""

    def __init__(self) -> None:
        #: ``idle`` between runs; in a run ``running`` until it is ``stopped`` or ``answered``.
        self.phase = "idle"
        self.calls: list[tuple[str, str, str]] = []
        self.printed: list[str] = []

    def begin(self) -> None:
        """A run begins."""
        self.calls.clear()
        self.printed.clear()
        self.phase = "running"

    def stop(self) -> None:
        """The host has begun to stop what runs."""
        if self.phase == "running":
            self.phase = "stopped"

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Tools by name."""

        def trip(how: str = "") -> str:
            self._called("trip", how)
            return "tripped"

        def leak(value: Any) -> str:
            self._called("leak", repr(value))
            return "harmless"

        def search(query: str = "", *, limit: int = 3) -> str:
            self._called("search", query)
            return f"{limit} results for {query!r}"

        def lookup(text: str = "") -> str:
            self._called("lookup", text)
            return str(text).upper()

        def final_answer(answer: Any = None) -> Any:
            self._called("final_answer", repr(answer))
            self.phase = "answered"
            return answer

        return {one.__name__: one for one in (trip, leak, search, lookup, final_answer)}

    def _called(self, name: str, given: str) -> None:
        self.calls.append((name, str(given)[:10_000], self.phase))

    def too_late(self) -> list[str]:
        """Calls that came when none may come any more."""
        return [f"{name}({given:.50}) was called when {phase}"
                for name, given, phase in self.calls if phase != "running"]  # fmt: skip


class ProcessHost:
    """A host with one warm executor, its tools and everything that programs go for."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        #: Programs that got everything that plain CPython gives.
        self.assaults = 0
        self.recorder = Recorder()
        self._patches = pytest.MonkeyPatch()
        self.watch = HostWatch()
        self._record_stops()
        if plain:
            self._patches.setattr(product, "layout_for", _with_plain_child(product.layout_for))
        with self.watch.own_folders():
            self.executor = ProcessExecutor(
                sorted({module for program in all_programs() for module in program.modules}),
                on_output=self.recorder.printed.append,
                max_operations=1_000_000,
                max_while_iterations=100_000,
                max_recursion_depth=400,
                **OPTIONS,
            )
        self.executor.send_tools(self.recorder.tools())
        self.executor.send_variables({"HOST": self.watch.facts()})
        self.executor(PRELUDE + "search()")  # the thread for tools is there from now on

    def __enter__(self) -> ProcessHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child, and let go of everything."""
        try:
            self.executor.cleanup()
        finally:
            self._patches.undo()
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
        """Run programs and fail with what each has reached, and its text."""
        faults = self.faults(programs)
        assert not faults, "\n".join(f"{why}\n{p.shown()}" for p, why in faults.items())

    def faults(self, programs: Sequence[Program]) -> dict[Program, str]:
        """Programs that are not held, and why."""
        faults: dict[Program, str] = {}
        self._compared(programs, faults)
        return faults

    def _compared(self, programs: Sequence[Program], faults: dict[Program, str]) -> None:
        """Run programs; where the host is not what it was, find out by which of them."""
        self._renew()  # a child that was killed leaves its executor without one, and its sockets
        things, before = open_things(), self.watch.snapshot()
        found = {program: why for program in programs if (why := self._fault(program))}
        faults.update(found)
        self._renew()
        after = self.watch.snapshot()
        changes = hostile_canary.changed(before, after)
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

    def _renew(self) -> None:
        self.executor.restart()
        if self.executor.pid is not None:
            self.watch.children.add(self.executor.pid)

    def _fault(self, program: Program) -> str:
        """What is wrong with one program, or the empty string. It has a new child."""
        faults = []
        self._renew()
        self.executor(PRELUDE)
        code = program.code.replace(SHARED_NAME, f"/tmp/{self.watch.marker}")
        self.recorder.begin()
        self.executor.options.timeout_seconds = timeout_of(program)
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
            self.executor.options.timeout_seconds = HANGS_SECONDS
        if (seconds := time.monotonic() - started) > HANGS_SECONDS:
            faults.append(f"took {seconds:.1f} s")
        printed = "".join(self.recorder.printed)
        self.assaults += plain_marks.ASSAULT_MADE in printed
        faults += self.recorder.too_late()
        if hostile_canary.SECRET in f"{shown}{printed}{self.recorder.calls}":
            faults.append("the secret came out")
        faults += [
            line for line in f"{printed}\n{shown}".splitlines() if plain_marks.REACHED in line
        ]
        if program.outside and any(name == "trip" for name, _, _ in self.recorder.calls):
            faults.append(f"reached {program.outside}")
        faults += self._next_call()
        return "; ".join(faults)

    def _next_call(self) -> list[str]:
        """A program may spoil its own child, but the interpreter's does not let it."""
        if self.plain:
            return []  # its next call is that of the next program, in a new child
        self.recorder.begin()
        try:
            output = self.executor("6 * 7").output
        except ForkError as error:
            return [f"the next call failed: {error}"]
        finally:
            self.recorder.phase = "idle"
        return [] if output == 42 else [f"the next call gave {output!r}"]


def _with_plain_child(layout_for: Callable[..., Layout]) -> Callable[..., Layout]:
    """The layout of the product's children, with this folder's worker preloaded."""

    def plain_layout(*arguments: Any, **keywords: Any) -> Layout:
        layout = layout_for(*arguments, **keywords)
        return dataclasses.replace(
            layout,
            path=(*layout.path, str(HERE)),
            preload=(*layout.preload, "plain_child"),
        )

    return plain_layout

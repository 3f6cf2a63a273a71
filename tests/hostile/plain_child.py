"""Worker of the child process that runs hostile programs.

The fork server imports this module before it serves (``Layout.preload``), which replaces the
product's worker by a subclass. The engine, the confinement, the frames and the host are the
product's: the kernel alone decides what a program can reach.

The child has a module ``hostile_canary``, like the host of the other tests. A program that reaches
it, or leaks a forbidden object, makes every attack of ``attacks.py`` and then continues.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
import warnings
from typing import Any, NoReturn

import attacks

from smolagents_fork.guest.frames import Frame
from smolagents_fork.guest.guest_worker import Link, Worker
from smolagents_fork.process import worker

#: Modules that programs and attacks use: imported once, before the fork.
MODULES = (
    "array", "ast", "asyncio", "base64", "bisect", "calendar", "collections.abc", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions",
    "functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "numpy", "operator",
    "pandas", "pickle", "pprint", "queue", "random", "re", "secrets", "statistics", "string",
    "subprocess", "textwrap", "time", "types", "typing", "unicodedata", "uuid",
)  # fmt: skip


class PlainChild(Worker):
    """The product's worker, with the canary and the attacks that a program makes who reaches it.

    It does not end a program after its final answer.
    """

    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        super().__init__(link, options)
        self._host: dict[str, Any] = {}
        self._assaulted = False
        canary = types.ModuleType("hostile_canary")
        canary.trip = self._trip  # type: ignore[attr-defined]
        canary.leak = self._leak  # type: ignore[attr-defined]
        # The secret is the host's, and a program that reads it has reached the canary.
        canary.__getattr__ = lambda name: self._trip(name)  # type: ignore[method-assign]
        sys.modules["hostile_canary"] = canary

    def _run(self, frame: Frame) -> None:
        variables = self._engine.variables()
        self._host = variables.get("HOST", self._host)
        self._engine.send_tools({"leak": self._leak, "trip": self._trip})
        super()._run(frame)

    def _finish(self) -> NoReturn:
        return None  # type: ignore[return-value]

    # -- functions for programs --

    def _trip(self, how: str = "") -> str:
        self._assault()
        with contextlib.suppress(Exception):
            self._calls.call("trip", [str(how)], {})
        return "tripped"

    def _leak(self, value: object) -> str:
        self._assault()
        return "forbidden"

    def _assault(self) -> None:
        if not self._assaulted:
            self._assaulted = True
            # Written first, because the program may be stopped later.
            print(attacks.ASSAULT_MADE, file=sys.__stdout__)
            for one in attacks.make_all(self._host):
                print(f"{attacks.REACHED} {one}]", file=sys.__stdout__)
            attacks.leave_thread(lambda: self._calls.call("search", ["after the end"], {}))
            attacks.replace_process()


warnings.simplefilter("ignore")
for _name in MODULES:
    importlib.import_module(_name)
attacks.compiled()
worker.Worker = PlainChild

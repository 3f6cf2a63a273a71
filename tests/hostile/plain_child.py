"""Worker of the child process that runs programs in plain CPython.

The fork server imports this module before it serves (``Layout.preload``), which replaces the
product's worker. The confinement, the frames and the host are the product's, but the interpreter
is replaced. The kernel alone therefore decides what a program can reach.

The child has a module ``hostile_canary``, like the host of the other tests. A program that reaches
it, or leaks a forbidden object, makes every attempt of ``assault.py`` and then continues.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import os
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import assault
from plain_marks import ASSAULT_MADE, REACHED

from smolagents_fork.codec import decode, encode
from smolagents_fork.codec.attachments import split_messages
from smolagents_fork.codec.rpc import HostCalls
from smolagents_fork.errors import EncodeError
from smolagents_fork.guest.frames import Frame, Kind
from smolagents_fork.process import worker
from smolagents_fork.process.worker import Link

#: Modules that programs and attempts use: imported once, before the fork.
MODULES = (
    "array", "ast", "asyncio", "base64", "bisect", "calendar", "collections.abc", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions",
    "functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "numpy", "operator",
    "pandas", "pickle", "pprint", "queue", "random", "re", "secrets", "statistics", "string",
    "subprocess", "textwrap", "time", "types", "typing", "unicodedata", "uuid",
)  # fmt: skip
_LONGEST = 80_000


class PlainChild:
    """Replacement for the product's worker, with ``exec`` as the interpreter."""

    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        self._link = link
        self._max_value_bytes = options["max_value_bytes"]
        self._calls = HostCalls(self._ask_host, self._finish, self._max_value_bytes)
        self._space: dict[str, Any] = {"__name__": "__main__"}
        self._host: dict[str, Any] = {}
        self._run = 0
        self._in_program = False
        self._shielded = 0
        self._assaulted = False
        link.shield = self._shield
        canary = types.ModuleType("hostile_canary")
        canary.trip = self._trip  # type: ignore[attr-defined]
        canary.leak = self._leak  # type: ignore[attr-defined]
        # The secret is the host's, and a program that reads it has reached the canary.
        canary.__getattr__ = lambda name: self._trip(name)  # type: ignore[method-assign]
        sys.modules["hostile_canary"] = canary
        sys.stdout = sys.stderr = _Printed(link)  # type: ignore[assignment]

    def serve(self) -> None:
        """Serve the host until it closes the connection."""
        while (frame := self._link.receive()) is not None:
            if frame.kind is Kind.RUN:
                self._serve_run(frame)
            elif frame.kind is Kind.TOOLS:
                tools: Any = decode(frame.body)
                self._space.update({spec["name"]: self._calls.stub(**spec) for spec in tools})
                self._link.send(Kind.ACCEPTED, frame.run)
            elif frame.kind is Kind.VARIABLES:
                for message in split_messages(frame.body):
                    self._space.update(decode(message))  # type: ignore[arg-type]
                self._host = self._space.pop("HOST", self._host)
                self._link.send(Kind.ACCEPTED, frame.run)

    def stop_if_asked(self, *_: Any) -> None:
        """Stop the program as plain CPython would, unless that would break a frame in two."""
        if self._in_program and not self._shielded and self._link.stop_asked:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def _shield(self) -> Iterator[None]:
        self._shielded += 1
        try:
            yield
        finally:
            self._shielded -= 1
        self.stop_if_asked()

    def _serve_run(self, frame: Frame) -> None:
        self._run = self._link.run = frame.run
        if "leak" in self._space:
            self._space.update(leak=self._leak, trip=self._trip)
        try:
            self._in_program = True
            self.stop_if_asked()
            value = self._value(frame.body.decode())
            self._in_program = False
            kind, body = Kind.DONE, self._encoded(value)
        except BaseException as error:
            self._in_program = False
            kind, body = Kind.FAILED, self._failure(error)
        self._link.send(kind, frame.run, body)

    def _value(self, code: str) -> Any:
        """Run a program and return the value of its last expression."""
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<program>", "exec", dont_inherit=True), self._space)
        if last is None:
            return None
        expression = ast.Expression(last.value)
        return eval(compile(expression, "<program>", "eval", dont_inherit=True), self._space)

    def _encoded(self, value: Any) -> bytes:
        try:
            return encode(value, max_bytes=self._max_value_bytes)
        except EncodeError:
            return encode(repr(value)[:_LONGEST])

    def _failure(self, error: BaseException) -> bytes:
        text = type(error).__name__
        with contextlib.suppress(BaseException):
            text += f": {error}"
        stopped = isinstance(error, KeyboardInterrupt)
        name = "TimeLimitExceededError" if stopped else "ProgramFailedError"
        return encode({"kind": name, "message": text[:_LONGEST]})

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
            # Sent first, because the program may be stopped later.
            self._link.write(ASSAULT_MADE + "\n")
            for one in assault.made(self._host):
                self._link.write(f"{REACHED} {one}]\n")
            assault.leave_thread(lambda: self._calls.call("search", ["after the end"], {}))
            assault.replace_process()

    # -- the bridge --

    def _ask_host(self, request: bytes) -> bytes:
        with self._shield():
            self._link.send(Kind.CALL, self._run, request)
            while (frame := self._link.receive()) is not None:
                if frame.kind is Kind.REPLY:
                    return frame.body
        os._exit(0)

    def _finish(self) -> None:
        """Continue: this child does not end a program after its final answer."""


class _Printed:
    """Standard output and error of a program."""

    encoding = "utf-8"

    def __init__(self, link: Link) -> None:
        self._link = link

    def write(self, text: str) -> int:
        self._link.write(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the output is not buffered."""

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return False


warnings.simplefilter("ignore")
for _name in MODULES:
    importlib.import_module(_name)
worker.main = functools.partial(worker.main, worker_class=PlainChild)

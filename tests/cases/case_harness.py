"""Runner of one program in CPython and in the fork's interpreter, with comparable outcomes.

Only the standard library and ``smolagents_fork.interpreter`` are used, so that the same file also
runs in Pyodide, which has neither pytest nor child processes.

Format of a file in ``programs/``: many programs, each begun by a header line and optional option
lines::

    # case: name-of-the-program
    # since: 3.12 type parameter syntax (PEP 695)
    # until: 3.13 the message changed in 3.14
    # value: ignored            (the value of the last line is not compared; say why)

``since`` and ``until`` are inclusive; a program outside the range is skipped with the text after
the version.
"""

from __future__ import annotations

import ast
import contextlib
import decimal
import io
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
FILENAME = "<reference>"

# Modules of threads, which hostile programs are given only where they say so.
THREADS = ("concurrent.futures", "threading")
# Other harmless modules that the programs use beyond those authorised by default.
AUTHORISED = (
    "abc",
    "asyncio",
    "base64",
    "bisect",
    "calendar",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "numpy",
    "pandas",
    "operator",
    "pprint",
    "queue",
    "random",
    "re",
    "statistics",
    "string",
    "textwrap",
    "time",
    "typing",
    "unicodedata",
    "uuid",
)


@dataclass(frozen=True)
class Case:
    """One program of the corpus: its location, and the versions of Python it is for."""

    family: str
    name: str
    code: str
    line: int
    since: tuple[int, ...] = (3, 0)
    until: tuple[int, ...] = (9, 0)
    reason: str = ""
    compare_value: bool = True

    @property
    def id(self) -> str:
        return f"{self.family}::{self.name}"

    def skip_reason(self, version: tuple[int, ...] = sys.version_info[:2]) -> str:
        """Return why this Python cannot run the program, or the empty string."""
        if version < self.since or version > self.until:
            return self.reason
        return ""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a program: printed text, value of the last line, and exception."""

    printed: str
    value: str = "nothing"
    error: str = ""
    message: str = ""
    line: int = 0
    extra: dict[str, Any] = field(default_factory=dict, compare=False)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def read_cases(path: Path) -> Iterator[Case]:
    """Read every program of one file, in order."""
    chunks = re.split(r"^# case: *", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = chunks[0].count("\n") + 1
    for chunk in chunks[1:]:
        name, _, body = chunk.partition("\n")
        options: dict[str, Any] = {}
        while match := re.match(r"# (since|until|value): *(.*)\n", body):
            key, text = match.groups()
            if key == "value":
                options["compare_value"] = False
            else:
                version, _, options["reason"] = text.partition(" ")
                options[key] = _version(version)
            body = body[match.end() :]
        yield Case(path.stem, name.strip(), body.rstrip() + "\n", line, **options)
        line += chunk.count("\n")


def all_cases() -> list[Case]:
    return [case for path in sorted(PROGRAMS.glob("*.py")) for case in read_cases(path)]


def describe(value: object) -> str:
    """Return type and repr without addresses, which differ from run to run in CPython, too."""
    return re.sub(r"0x[0-9a-fA-F]+", "0x", f"{type(value).__name__}: {value!r}")


def scrub(text: str) -> str:
    return re.sub(r"0x[0-9a-fA-F]+", "0x", text)


def wants_value(tree: ast.Module) -> bool:
    """Return whether an executor returns the value of the last statement.

    This is the case for an expression and for an assignment to a name.
    """
    if not tree.body:
        return False
    last = tree.body[-1]
    if isinstance(last, ast.Assign):
        return len(last.targets) == 1 and isinstance(last.targets[0], ast.Name)
    return isinstance(last, ast.Expr)


def _last_line(error: BaseException, filename: str) -> int:
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    if not line and isinstance(error, SyntaxError):
        line = error.lineno or 0
    return line


def run_reference(code: str, namespace: dict[str, Any] | None = None) -> Outcome:
    """Run the program in CPython as ``__main__`` in a new namespace.

    Objects left by the program are collected here, and their output is discarded. A loop or
    coroutine that is collected later would cause an error in another test.
    """
    space: dict[str, Any] = {"__name__": "__main__"} if namespace is None else namespace
    if sys.version_info < (3, 11):
        # CPython 3.10 overlooks annotations in a case of match, and then has no such dict.
        space.setdefault("__annotations__", {})
    hook, sys.unraisablehook = sys.unraisablehook, lambda _told: None
    try:
        with warnings.catch_warnings(), decimal.localcontext(decimal.Context()):
            warnings.simplefilter("ignore")
            try:
                return _reference(code, space)
            finally:
                if namespace is None:
                    space.clear()
    finally:
        sys.unraisablehook = hook


def _reference(code: str, space: dict[str, Any]) -> Outcome:
    printed = io.StringIO()
    value: object = None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("ignore")
            tree = ast.parse(code, FILENAME)
            returns = wants_value(tree)
            if returns and isinstance(tree.body[-1], ast.Expr):
                last = tree.body.pop()
                _execute(tree, space)
                assert isinstance(last, ast.Expr)
                value = _evaluate(last.value, space)
            else:
                _execute(tree, space)
                if returns:
                    target = tree.body[-1].targets[0]  # type: ignore[attr-defined]
                    value = space[target.id]
        return Outcome(scrub(printed.getvalue()), describe(value) if returns else "nothing")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome(
            scrub(printed.getvalue()),
            error=type(error).__name__,
            message=scrub(_message(error)),
            line=_last_line(error, FILENAME),
        )


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    return str(error)


def _drive(result: Any) -> Any:
    """Run a coroutine that a program with top-level ``await`` compiles to."""
    import asyncio

    return asyncio.run(result)


def _execute(tree: ast.Module, space: dict[str, Any]) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(tree, FILENAME, "exec", flags=flags, dont_inherit=True)
    result = eval(code, space)
    if code.co_flags & 0x80:  # inspect.CO_COROUTINE
        _drive(result)


def _evaluate(expression: ast.expr, space: dict[str, Any]) -> Any:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(ast.Expression(expression), FILENAME, "eval", flags=flags, dont_inherit=True)
    result = eval(code, space)
    return _drive(result) if code.co_flags & 0x80 else result


def run_ours(code: str, *, interpreter: Any = None) -> Outcome:
    """Run the program in the fork's interpreter."""
    from smolagents_fork.errors import InterpreterError
    from smolagents_fork.interpreter.guarded import Interpreter

    if interpreter is None:
        interpreter = Interpreter(additional_authorized_imports=(*AUTHORISED, *THREADS))
    # The context is the thread's, in the local executor too: a case may lower its precision.
    with warnings.catch_warnings(), decimal.localcontext(decimal.Context()):
        warnings.simplefilter("ignore")
        try:
            result = interpreter.run(code)
        except InterpreterError as error:
            return _ours_failed(error, str(interpreter.output.value))
        tree = ast.parse(code)
    returns = wants_value(tree)
    return Outcome(scrub(str(result.logs)), describe(result.output) if returns else "nothing")


def _ours_failed(error: Any, printed: str) -> Outcome:
    """Return the program's exception, at the line of the innermost frame in the message."""
    cause = error.__cause__
    text = str(error)
    lines = re.findall(r"^  Line (\d+), in ", text, flags=re.MULTILINE)
    lines = lines or re.findall(r"\(line (\d+)\)", text)
    if parsing := re.match(
        r"Code parsing failed on line (\d+) due to: (\w+): (.*) \(<unknown>", text
    ):
        line, kind, message = parsing.groups()
        return Outcome(scrub(printed), error=kind, message=message, line=int(line))
    return Outcome(
        scrub(printed),
        error=type(cause).__name__ if cause is not None else type(error).__name__,
        message=scrub(_message(cause)) if cause is not None else text,
        line=int(lines[-1]) if lines else 0,
        extra={"text": text},
    )

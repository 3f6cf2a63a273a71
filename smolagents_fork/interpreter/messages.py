"""What the host is told when a program did not end well: in upstream's words, with the line."""

from __future__ import annotations

import traceback
from typing import Any

from ..errors import ImportRefusedError, InterpreterError, ProgramFailedError, ProgramRefusedError
from .program import Program

__all__ = ["failed", "stopped"]


def _line_of(error: BaseException, program: Program) -> int | None:
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == program.filename:
            line = number
            break
    return line


def _top_statement(program: Program, line: int | None) -> str:
    import ast

    for statement in program.tree.body:
        end = statement.end_lineno or statement.lineno
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        if line is not None and first <= line <= end:
            return ast.get_source_segment(program.source, statement) or ""
    return ""


def stopped(kind: type[InterpreterError], stop: BaseException, program: Program) -> InterpreterError:
    """The error for a run that reached a limit."""
    line = _line_of(stop, program)
    return kind(
        f"Code execution failed at line '{_top_statement(program, line)}' "
        f"(line {line}) due to: InterpreterError: {stop}"
    )


def failed(error: BaseException, program: Program, state: dict[str, Any]) -> InterpreterError:
    """The error for a run that ended in an exception."""
    line = _line_of(error, program)
    name = "InterpreterError" if isinstance(error, InterpreterError) else type(error).__name__
    kind: type[InterpreterError] = ProgramFailedError
    if isinstance(error, ImportRefusedError):
        kind = ImportRefusedError
    elif isinstance(error, ProgramRefusedError):
        kind = ProgramRefusedError
    text = (
        f"Code execution failed at line '{_top_statement(program, line)}' "
        f"(line {line}) due to: {name}: {error}"
    )
    made = kind(text)
    made.__cause__ = error
    return made

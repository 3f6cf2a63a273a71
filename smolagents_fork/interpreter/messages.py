"""What the host is told when a program did not end well.

Upstream's words where its documentation and tests show them, CPython's own type and message, the
line and its text, a hint where one can be given, and the program's own frames.
"""

from __future__ import annotations

import ast
import dis
from types import TracebackType

from ..errors import (
    ImportRefusedError,
    InterpreterError,
    LimitExceededError,
    ProgramFailedError,
    ProgramInterruptedError,
    ProgramRefusedError,
    TimeLimitExceededError,
)
from .hints import hint, positions
from .meter import InterruptStop, TimeStop
from .program import Program, known

__all__ = ["failed", "raised_by_program", "stopped"]

#: Frames, causes and members of a group shown at most.
_MOST_FRAMES = 10
_MOST_CAUSES = 3


def _frames(error: BaseException) -> list[tuple[Program, TracebackType, int]]:
    """The traceback's frames that are a program's own, with their lines."""
    found = []
    entry = error.__traceback__
    while entry is not None:
        program = known(entry.tb_frame.f_code.co_filename)
        if program is not None:
            found.append((program, entry, entry.tb_lineno))
        entry = entry.tb_next
    return found


def _top_statement(program: Program, entry: TracebackType | None, line: int | None) -> str:
    """The text of the top level's statement at ``line``, that of several which really failed."""
    found = ""
    column = positions(entry)[2] if entry is not None else None
    for statement in program.tree.body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(d.lineno for d in decorators)])
        if line is None or not first <= line <= (statement.end_lineno or statement.lineno):
            continue
        if not found or (column is not None and statement.col_offset <= column):
            found = _text_from(program, first, statement)
    return found


def _text_from(program: Program, first: int, statement: ast.stmt) -> str:
    """A statement as it is written, its decorators included."""
    text = ast.get_source_segment(program.source, statement) or ""
    above = program.source.splitlines()[first - 1 : statement.lineno - 1]
    return "\n".join([*above, text])


def _line_text(program: Program, line: int) -> str:
    lines = program.source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _trace(frames: list[tuple[Program, TracebackType, int]], statement: str) -> str:
    if len(frames) < (1 if "\n" in statement else 2):
        return ""
    shown = frames if len(frames) <= _MOST_FRAMES else [frames[0], *frames[1 - _MOST_FRAMES :]]
    lines = ["\nTraceback (most recent call last):"]
    for position, (program, entry, line) in enumerate(shown):
        if position == 1 and len(shown) < len(frames):
            lines.append(f"  ... {len(frames) - len(shown)} more ...")
        lines.append(f"  Line {line}, in {entry.tb_frame.f_code.co_name}")
        lines.append(f"    {_line_text(program, line)}")
    return "\n".join(lines)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"<exception str() failed: {type(broken).__name__}>"


def _causes(error: BaseException) -> str:
    """What led to the error, a line each."""
    lines = []
    for _ in range(_MOST_CAUSES):
        word, cause = "Caused by", error.__cause__
        if cause is None and not error.__suppress_context__:
            word, cause = "While handling", error.__context__
        frames = [] if cause is None else _frames(cause)
        if cause is None or not frames:
            break
        lines.append(f"\n{word} {type(cause).__name__} at line {frames[-1][2]}: {_said(cause)}")
        error = cause
    return "".join(lines)


def _members(error: BaseException, depth: int = 1) -> str:
    """The exceptions of a group, a line each."""
    members = getattr(error, "exceptions", None)
    if type(error).__name__ not in _GROUPS or type(members) is not tuple or depth > _MOST_CAUSES:
        return ""
    shown = [
        f"\n{'  ' * depth}{type(one).__name__}: {_said(one)}{_members(one, depth + 1)}"
        for one in members[:_MOST_FRAMES]
    ]
    return "".join(shown)


_GROUPS = ("ExceptionGroup", "BaseExceptionGroup")


# -- the errors --


def raised_by_program(error: BaseException) -> bool:
    """Whether a program's own ``raise`` statement began the error; a signal comes anywhere else."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None or known(entry.tb_frame.f_code.co_filename) is None:
        return False
    return entry.tb_frame.f_code.co_code[entry.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def stopped(stop: BaseException, program: Program, *, waited: bool = False) -> InterpreterError:
    """The error for a run that reached a limit or was interrupted.

    Args:
        stop: what ended it.
        program: what ran.
        waited: whether its last line had run, and its threads were waited for.
    """
    kind: type[InterpreterError] = LimitExceededError
    if isinstance(stop, TimeStop):
        kind = TimeLimitExceededError
    elif isinstance(stop, InterruptStop):
        kind = ProgramInterruptedError
    frames = _frames(stop)
    entry, line = (frames[0][1], frames[0][2]) if frames else (None, None)
    if waited and not frames:
        return kind(
            "Code execution failed while the program's threads were waited for, due to: "
            f"InterpreterError: {stop}. Join threads with a timeout, or make them daemons"
        )
    statement = _top_statement(program, entry, line)
    return kind(
        f"Code execution failed at line '{statement}' (line {line}) due to: "
        f"InterpreterError: {stop}"
    )


def failed(error: BaseException, program: Program) -> InterpreterError:
    """The error for a run that ended in an exception.

    Runs the program's own ``__str__``, so it is called while the limits are still in force.
    """
    kind: type[InterpreterError] = ProgramFailedError
    if isinstance(error, ImportRefusedError):
        kind = ImportRefusedError
    elif isinstance(error, ProgramRefusedError):
        kind = ProgramRefusedError
    name = "InterpreterError" if isinstance(error, InterpreterError) else type(error).__name__
    text = _said(error)
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, RecursionError):
        text += "; it goes deeper than max_recursion_depth allows"
    frames = _frames(error)
    own = [frame for frame in frames if frame[0] is program] or frames
    first, line = (own[0][1], own[0][2]) if own else (None, None)
    statement = _top_statement(program, first, line)
    help_ = ""
    if frames:
        last_program, entry, _line = frames[-1]
        innermost = error.__traceback__
        while innermost is not None and innermost.tb_next is not None:
            innermost = innermost.tb_next
        try:
            help_ = hint(error, last_program, entry, innermost is entry)
        except Exception:
            help_ = ""  # a hint that cannot be made is no reason to lose the error
    made = kind(
        f"Code execution failed at line '{statement}' (line {line}) due to: "
        f"{name}: {text}{notes}{'. ' + help_ if help_ else ''}{_members(error)}{_causes(error)}"
        f"{_trace(frames, statement)}"
    )
    made.__cause__ = error
    return made

"""Errors for the host when a program did not end well.

Upstream's words where its documentation and tests show them, CPython's own type and message, the
line and its text, a hint where one can be given, and the program's own frames.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType, TracebackType

from ..errors import (
    ImportRefusedError,
    InterpreterError,
    LimitExceededError,
    ProgramFailedError,
    ProgramInterruptedError,
    ProgramRefusedError,
    TimeLimitExceededError,
)
from ..text.hints import hint, positions
from ..text.texts import (
    class_name,
    exact_text,
    exception_field,
    exit_failure,
    missing_cause,
    read_members,
    read_notes,
)
from .program_text import CompiledProgram, find_program
from .stops import FinalAnswer, InterruptStop, ProgramStop, TimeStop

__all__ = ["make_failure", "make_stop_error"]

#: Frames and causes shown at most, and frames looked at.
_MOST_FRAMES = 10
_MOST_CAUSES = 3
_DEEPEST = 20_000
#: Characters kept of an exception's own text.
_LONGEST = 50_000


def _frames(error: BaseException) -> list[tuple[CompiledProgram, TracebackType, int]]:
    """Find the traceback's frames that are a program's own, with their lines."""
    frames = []
    entry = exception_field(error, "__traceback__")
    for _ in range(_DEEPEST):
        if entry is None:
            break
        program = find_program(entry.tb_frame.f_code.co_filename)
        if program is not None:
            frames.append((program, entry, entry.tb_lineno))
        entry = entry.tb_next
    return frames


def _top_statement(program: CompiledProgram, entry: TracebackType | None, line: int | None) -> str:
    """Give the text of the top level's statement at ``line``: of several, the one that failed."""
    statement_text = ""
    column = positions(entry)[2] if entry is not None else None
    for statement in program.tree.body:
        parts = [statement, *getattr(statement, "decorator_list", [])]
        first = min(part.lineno for part in parts)
        if line is None or not first <= line <= (statement.end_lineno or statement.lineno):
            continue
        if not statement_text or (column is not None and statement.col_offset <= column):
            decorators = program.source.splitlines()[first - 1 : statement.lineno - 1]
            text = ast.get_source_segment(program.source, statement) or ""
            statement_text = "\n".join([*decorators, text])
    return statement_text


def _trace(frames: list[tuple[CompiledProgram, TracebackType, int]], statement: str) -> str:
    if len(frames) < (1 if "\n" in statement else 2):
        return ""
    shown = frames if len(frames) <= _MOST_FRAMES else [frames[0], *frames[1 - _MOST_FRAMES :]]
    lines = ["\nTraceback (most recent call last):"]
    for position, (program, entry, line) in enumerate(shown):
        if position == 1 and len(shown) < len(frames):
            lines.append(f"  ... {len(frames) - len(shown)} more ...")
        lines.append(f"  Line {line}, in {entry.tb_frame.f_code.co_name}")
        text = program.source.splitlines()[line - 1 : line]
        lines.append(f"    {''.join(text).strip()}")
    return "\n".join(lines)


def _read_text(error: BaseException) -> str:
    """Give an exception's own text; its class may be the program's, and raise anything."""
    try:
        text = str(error)
    except (ProgramStop, FinalAnswer):
        raise
    except BaseException as broken:
        return f"<exception str() failed: {class_name(broken)}>"
    text = exact_text(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def _causes(error: BaseException) -> str:
    """Describe what led to the error, a line each."""
    lines = []
    for _ in range(_MOST_CAUSES):
        word, cause = "Caused by", exception_field(error, "__cause__")
        if cause is None and not exception_field(error, "__suppress_context__"):
            word, cause = "While handling", exception_field(error, "__context__")
        frames = [] if cause is None else _frames(cause)
        if cause is None or not frames:
            break
        lines.append(f"\n{word} {class_name(cause)} at line {frames[-1][2]}: {_read_text(cause)}")
        error = cause
    return "".join(lines)


# -- the errors --


def make_stop_error(
    stop: BaseException, program: CompiledProgram, *, waited: bool = False
) -> InterpreterError:
    """Make the error for a run that reached a limit or was interrupted.

    Args:
        stop: what ended it.
        program: what ran.
        waited: whether its last line had run, and its threads were waited for.
    """
    error_type: type[InterpreterError] = LimitExceededError
    if isinstance(stop, TimeStop):
        error_type = TimeLimitExceededError
    elif isinstance(stop, InterruptStop):
        error_type = ProgramInterruptedError
    frames = _frames(stop)
    # Raised again, it has the places of every time, the first one last.
    tops = [
        (frame_program, entry, number)
        for frame_program, entry, number in frames
        if frame_program is program and entry.tb_frame.f_code.co_name == "<module>"
    ] or frames
    entry, line = (tops[-1][1], tops[-1][2]) if tops else (None, None)
    if waited and not frames:
        return error_type(
            "Code execution failed while the program's threads were waited for, due to: "
            f"InterpreterError: {stop}. Join threads with a timeout, or make them daemons"
        )
    if program.is_async and not frames:
        return error_type(
            f"Code execution failed at an await of the top level, due to: InterpreterError: {stop}"
        )
    statement = _top_statement(program, entry, line)
    return error_type(
        f"Code execution failed at line '{statement}' (line {line}) due to: "
        f"InterpreterError: {stop}"
    )


def make_failure(
    error: BaseException,
    program: CompiledProgram,
    refused: Mapping[str, str] = MappingProxyType({}),
    recursion_advice: str = "",
) -> InterpreterError:
    """Make the error for a run that ended in an exception.

    Runs the program's own ``__str__``, so it is called while the limits are still in force.

    Args:
        error: the exception.
        program: what ran.
        refused: builtins that programs do not have -> what to do instead.
        recursion_advice: follows the text of a RecursionError.
    """
    error_type: type[InterpreterError] = ProgramFailedError
    raised = type(error)  # asked for its class, an object of the program's may raise anything
    if issubclass(raised, ImportRefusedError):
        error_type = ImportRefusedError
    elif issubclass(raised, ProgramRefusedError):
        error_type = ProgramRefusedError
    ours = issubclass(raised, InterpreterError)
    name = "InterpreterError" if ours else class_name(error)
    text, notes = _read_text(error), read_notes(error)
    if issubclass(raised, RecursionError):
        text += recursion_advice
    elif issubclass(raised, SystemExit):
        text = exit_failure(error)
    elif issubclass(raised, MemoryError):
        text = text or "there is not enough memory"
    frames = _frames(error)
    own = [frame for frame in frames if frame[0] is program] or frames
    first, line = (own[0][1], own[0][2]) if own else (None, None)
    statement = _top_statement(program, first, line)
    place = f" at line '{statement}' (line {line})" if own else ""  # a debugger's error has none
    help_ = ""
    if frames:
        inner, entry, _line = frames[-1]
        innermost = exception_field(error, "__traceback__")
        while innermost is not None and innermost.tb_next is not None:
            innermost = innermost.tb_next
        try:
            help_ = hint(error, inner.tree, entry, innermost is entry, refused)
        except (ProgramStop, FinalAnswer):
            raise
        except BaseException:
            help_ = ""  # without a hint the error is still told
    failure = error_type(
        f"Code execution failed{place} due to: "
        f"{name}: {text}{notes}{'. ' + help_ if help_ else ''}"
        f"{read_members(error, _read_text)}{_causes(error)}"
        f"{missing_cause(error)}{_trace(frames, statement)}"
    )
    failure.__cause__ = error
    return failure

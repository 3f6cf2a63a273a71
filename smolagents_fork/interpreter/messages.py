"""What the host is told when a program did not end well.

Upstream's words where its documentation and tests show them, CPython's own type and message, the
line and its text, a hint where one can be given, and the program's own frames.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from ..errors import (
    ImportRefusedError,
    InterpreterError,
    LimitExceededError,
    ProgramFailedError,
    ProgramInterruptedError,
    ProgramRefusedError,
    TimeLimitExceededError,
)
from .meter import InterruptStop, TimeStop
from .program import Program, known

__all__ = ["failed", "stopped"]

#: Frames shown at most, and characters of a value.
_MOST_FRAMES = 10
_MOST_TEXT = 200
_PLAIN = (int, float, complex, str, bytes, bool, type(None))


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


def _top_statement(program: Program, line: int | None) -> str:
    for statement in program.tree.body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(d.lineno for d in decorators)])
        if line is not None and first <= line <= (statement.end_lineno or statement.lineno):
            return ast.get_source_segment(program.source, statement) or ""
    return ""


def _line_text(program: Program, line: int) -> str:
    lines = program.source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _trace(frames: list[tuple[Program, TracebackType, int]]) -> str:
    if len(frames) < 2:
        return ""
    shown = frames if len(frames) <= _MOST_FRAMES else [frames[0], *frames[1 - _MOST_FRAMES :]]
    lines = ["\nTraceback (most recent call last):"]
    for position, (program, entry, line) in enumerate(shown):
        if position == 1 and len(shown) < len(frames):
            lines.append(f"  ... {len(frames) - len(shown)} more ...")
        lines.append(f"  Line {line}, in {entry.tb_frame.f_code.co_name}")
        lines.append(f"    {_line_text(program, line)}")
    return "\n".join(lines)


def safe_repr(value: Any, depth: int = 2) -> str:
    """A short ``repr`` that runs none of the program's code."""
    kind = type(value)
    if kind in _PLAIN:
        try:
            text = repr(value)
        except ValueError:  # an integer too long for text
            return "<int>"
        return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + "..."
    if depth and kind in (list, tuple, dict):
        if kind is dict:
            pairs = itertools.islice(value.items(), 11)
            parts = [f"{safe_repr(k, 0)}: {safe_repr(v, depth - 1)}" for k, v in pairs]
        else:
            parts = [safe_repr(one, depth - 1) for one in itertools.islice(value, 11)]
        if len(parts) > 10:
            parts[10] = "..."
        opening, closing = (
            ("{", "}") if kind is dict else ("[", "]") if kind is list else ("(", ")")
        )
        return f"{opening}{', '.join(parts)}{closing}"
    return f"<{kind.__name__} object>"


# -- hints --


def _positions(entry: TracebackType) -> tuple[int | None, int | None, int | None, int | None]:
    code = entry.tb_frame.f_code
    if not hasattr(code, "co_positions"):  # Python 3.10 knows the line only
        return (entry.tb_lineno, None, None, None)
    places = itertools.islice(code.co_positions(), entry.tb_lasti // 2, None)
    return next(places, (entry.tb_lineno, None, None, None))


def _nodes_at(program: Program, entry: TracebackType) -> Iterator[ast.AST]:
    """Nodes of the program as written at the place that failed, the exact one first."""
    line, _end_line, column, end_column = _positions(entry)
    later = []
    for node in ast.walk(program.tree):
        if getattr(node, "lineno", None) != line:
            continue
        place = (getattr(node, "col_offset", None), getattr(node, "end_col_offset", None))
        if place == (column, end_column):
            yield node
        else:
            later.append(node)
    yield from later


def _value_of(node: ast.AST, frame: FrameType) -> tuple[bool, Any]:
    """The value of a name or a constant, without running anything."""
    if isinstance(node, ast.Constant):
        return True, node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return True, names[node.id]
    return False, None


def _name_hint(error: NameError, program: Program, entry: TracebackType) -> str:
    name = getattr(error, "name", None) or _quoted(str(error))
    if not name:
        return ""
    nodes = list(_nodes_at(program, entry))
    frame = entry.tb_frame
    if any(isinstance(n, ast.Delete) for n in nodes):
        return f"Cannot delete name '{name}': name is not defined"
    called = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
        for n in nodes
    )
    if called:
        hint = (
            f"Forbidden function evaluation: '{name}' is not among the explicitly allowed tools "
            "or defined/imported in the preceding code"
        )
    else:
        hint = f"The variable `{name}` is not defined"
    names = {*frame.f_locals, *frame.f_globals, *frame.f_builtins, *dir(builtins)}
    plain = [n for n in names if isinstance(n, str) and not n.startswith(("_", "@"))]
    close = difflib.get_close_matches(name, plain, n=3)
    return hint + (f". Did you mean: {', '.join(map(repr, close))}?" if close else "")


def _quoted(text: str) -> str:
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else ""


def _index_hint(error: BaseException, program: Program, entry: TracebackType) -> str:
    for node in _nodes_at(program, entry):
        if not isinstance(node, ast.Subscript):
            continue
        found, value = _value_of(node.value, entry.tb_frame)
        has_key, key = _value_of(node.slice, entry.tb_frame)
        if not has_key and isinstance(error, KeyError) and error.args:
            key, has_key = error.args[0], True
        if not (found and has_key):
            continue
        if isinstance(value, str) and isinstance(key, str):
            return "You're trying to subscript a string with a string index, which is impossible"
        hint = f"Could not index {safe_repr(value)} with {safe_repr(key)}"
        if type(value) is dict and isinstance(key, str):
            close = difflib.get_close_matches(key, [k for k in value if type(k) is str])
            if close:
                hint += f". Maybe you meant one of these indexes instead: {close}"
        return hint
    return ""


def _type_hint(error: TypeError, program: Program, entry: TracebackType) -> str:
    text = str(error)
    if "argument after ** must be a mapping" in text:
        return f"Cannot unpack non-dict value in **kwargs: {text.rsplit('not ', 1)[-1]}"
    if "object is not iterable" in text:
        for node in _nodes_at(program, entry):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                found, left = _value_of(node.target, entry.tb_frame)
                has_right, right = _value_of(node.value, entry.tb_frame)
                if found and has_right and type(left) is list:
                    return f"Cannot add non-list value {safe_repr(right)} to a list."
    if "not subscriptable" in text or "indices must be" in text:
        return _index_hint(error, program, entry)
    return ""


def _hint(error: BaseException, program: Program, entry: TracebackType) -> str:
    if type(error) in (NameError, UnboundLocalError) and isinstance(error, NameError):
        return _name_hint(error, program, entry)
    if type(error) in (KeyError, IndexError):
        return _index_hint(error, program, entry)
    if type(error) is TypeError:
        return _type_hint(error, program, entry)
    if type(error) is ValueError and "values to unpack" in str(error):
        return "Cannot unpack tuple of wrong size"
    return ""


# -- the errors --


def stopped(stop: BaseException, program: Program) -> InterpreterError:
    """The error for a run that reached a limit or was interrupted."""
    kind: type[InterpreterError] = LimitExceededError
    if isinstance(stop, TimeStop):
        kind = TimeLimitExceededError
    elif isinstance(stop, InterruptStop):
        kind = ProgramInterruptedError
    frames = _frames(stop)
    line = frames[0][2] if frames else None
    return kind(
        f"Code execution failed at line '{_top_statement(program, line)}' (line {line}) due to: "
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
    try:
        text = str(error)
    except Exception as broken:
        text = f"<exception str() failed: {type(broken).__name__}>"
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, RecursionError):
        text += "; it goes deeper than max_recursion_depth allows"
    frames = _frames(error)
    own = [frame for frame in frames if frame[0] is program] or frames
    line = own[0][2] if own else None
    hint = ""
    if frames:
        last_program, entry, _line = frames[-1]
        innermost = error.__traceback__
        while innermost is not None and innermost.tb_next is not None:
            innermost = innermost.tb_next
        if innermost is entry or isinstance(error, NameError):
            try:
                hint = _hint(error, last_program, entry)
            except Exception:
                hint = ""  # a hint that cannot be made is no reason to lose the error
    made = kind(
        f"Code execution failed at line '{_top_statement(program, line)}' (line {line}) due to: "
        f"{name}: {text}{notes}{'. ' + hint if hint else ''}{_trace(frames)}"
    )
    made.__cause__ = error
    return made

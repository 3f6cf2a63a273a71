"""Errors and warnings that Python writes to the process's stderr: a program's go to its own logs.

An error in ``__del__`` or in a generator that is thrown away, and a coroutine that nobody awaited,
are told by hooks that the process has once. Those here know a program's functions by their file's
name and hand on whatever else they are told. What a program leaves behind may be collected between
two runs, or in the run of another: its words are then nobody's, and are dropped.
"""

from __future__ import annotations

import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from .meter import FinalAnswer, ProgramStop
from .metered_items import PROGRAM_FILE
from .program import known

__all__ = ["Listener", "begin", "end"]


class Listener(NamedTuple):
    """Whose words are heard in a thread.

    Args:
        globals: the program's.
        write: takes what it would write to its stderr.
        files: names of the program's files, and of those that its interpreter ran before.
    """

    globals: dict[str, Any]
    write: Callable[[str], Any]
    files: AbstractSet[str] = frozenset()


#: Where tools are called, and where threads begin.
_TOOLS, _THREADS = f"{__package__}.outside", f"{__package__}.threads"
_SUSPENDED: dict[type, str] = {
    types.GeneratorType: "gi",
    types.CoroutineType: "cr",
    types.AsyncGeneratorType: "ag",
}
_lock = threading.Lock()
#: By thread, for a run may be in a tool of another.
_listening: dict[int, list[Listener]] = {}
_before: Any = sys.__unraisablehook__
_unawaited_before: Any = None
_show_before: Any = None


def begin(listener: Listener) -> None:
    """Code of a program begins to run in this thread."""
    global _before, _unawaited_before, _show_before
    with _lock:
        if not _listening and warnings.showwarning is not _show:
            _show_before, warnings.showwarning = warnings.showwarning, _show
        _listening.setdefault(threading.get_ident(), []).append(listener)
        # These two stay. A host that sets a hook of its own later has it.
        if _unawaited_before is None or sys.unraisablehook is sys.__unraisablehook__:
            _before, sys.unraisablehook = sys.unraisablehook, _unraisable
        if _unawaited_before is None:
            _unawaited_before = warnings._warn_unawaited_coroutine  # type: ignore[attr-defined]
            warnings._warn_unawaited_coroutine = _unawaited  # type: ignore[attr-defined]


def end() -> None:
    """It has ended."""
    with _lock:
        here = _listening[threading.get_ident()]
        here.pop()
        if not here:
            del _listening[threading.get_ident()]
        if not _listening and warnings.showwarning is _show:
            warnings.showwarning = _show_before


def _write(owner: dict[str, Any] | None, text: str) -> None:
    """Write to the logs of the program that runs here, if ``owner`` are its globals."""
    here = _listening.get(threading.get_ident())
    if here and here[-1].globals is owner:
        here[-1].write(text)


def _is_program(code: types.CodeType) -> bool:
    return code.co_filename.startswith((PROGRAM_FILE, "<generated>"))


def _owner(value: Any, entry: types.TracebackType | None) -> tuple[bool, dict[str, Any] | None]:
    """Whether ``value`` is a program's, or the error began in a program; and its globals."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    frame = None if entry is None else entry.tb_frame
    found = None if frame is None or not _is_program(frame.f_code) else frame.f_globals
    if isinstance(value, types.FunctionType):
        return _is_program(value.__code__) or found is not None, value.__globals__
    prefix = _SUSPENDED.get(type(value))
    if prefix is not None and _is_program(getattr(value, f"{prefix}_code")):
        own = getattr(value, f"{prefix}_frame")
        return True, found if own is None else own.f_globals
    return found is not None, found


def _unraisable(told: Any) -> None:
    if issubclass(told.exc_type, (ProgramStop, FinalAnswer)):
        return  # the run says so itself
    try:
        ours, owner = _owner(told.object, told.exc_traceback)
    except RecursionError:
        return  # only programs recurse as deep as they are let
    if not ours:
        _before(told)
        return
    try:
        what = object.__repr__(told.object)
        if isinstance(told.object, (types.FunctionType, *_SUSPENDED)):
            what = repr(told.object)
        lines = traceback.format_exception(told.exc_type, told.exc_value, told.exc_traceback)
        _write(owner, f"{told.err_msg or 'Exception ignored in'}: {what}\n" + "".join(lines))
    except BaseException:
        return  # its words cannot be had, or its time is over


def _unawaited(coroutine: Any) -> None:
    ours, owner = _owner(coroutine, None)
    if not ours:
        _unawaited_before(coroutine)
        return
    frame: Any = sys._getframe()
    while frame is not None and not _is_program(frame.f_code):
        frame = frame.f_back
    place = (
        "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}: RuntimeWarning: "
    )
    _write(owner, f"{place}coroutine {coroutine.__qualname__!r} was never awaited\n")


def _by_program(frame: Any) -> bool:
    """Whether what runs in ``frame`` was called by a program, and not by a tool it called."""
    while frame is not None and not _is_program(frame.f_code):
        name = frame.f_globals.get("__name__")
        if name in (_TOOLS, _THREADS):
            return bool(name == _THREADS)
        frame = frame.f_back
    return frame is not None


def _show(
    message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    here = _listening.get(threading.get_ident())
    if here and file is None and _by_program(sys._getframe()):
        if line is None:
            # Any other line is of a file of the host's, or of another's program.
            program = known(filename) if filename in here[-1].files else None
            lines = [] if program is None else program.source.splitlines()
            line = lines[lineno - 1] if 0 < lineno <= len(lines) else ""
        here[-1].write(warnings.formatwarning(message, category, filename, lineno, line))
        return
    _show_before(message, category, filename, lineno, file, line)

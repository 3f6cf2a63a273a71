"""A second look at the clock, for library code that is written in Python and counts nothing.

The program's own code looks at the clock itself (meter.py), and so does what it hands to C code.
``difflib``, ``copy.deepcopy`` or arithmetic with fractions do not, for as long as one call of them
lasts. One thread for the whole process looks at the runs that have a deadline, ten times a second.
Where a run is late it raises in the run's own thread, as Ctrl-C does in the main thread
(``PyThreadState_SetAsyncExc``). It runs nothing of the program, ends by itself when there is
nothing to look at, and is not there at all where there are no threads, as in Wasm: the checks in
the code hold without it.
"""

from __future__ import annotations

import _thread
import ctypes
import gc
import operator
import os
import sys
import time
from collections.abc import Iterable
from itertools import compress, starmap
from operator import itemgetter
from types import FrameType
from typing import TYPE_CHECKING

from .build import words
from .metered_items import PROGRAM_FILE

if TYPE_CHECKING:
    from .meter import Meter

__all__ = ["break_off", "forget", "raise_in", "watch"]

#: Seconds between two looks.
_PERIOD = 0.1
#: Looks without a run after which the thread ends.
_IDLE_LOOKS = 50

_PROGRAM_FILES = (PROGRAM_FILE, "<generated>")
_PACKAGE = __name__.split(".")[0]
#: Modules of the interpreter that keep the host's state apart from the program's.
_OWN_WHOLE = frozenset(
    words(
        "borrowed loops meter modules output outside program "
        "replaced_threads replaced_waiting run threads unraisable watch "
    )
)
#: Modules of Python that keep locks, or state of the process, and whose functions are short.
_WHOLE = frozenset(
    words(
        "_weakrefset asyncio concurrent contextvars importlib linecache locale logging "
        "multiprocessing queue selectors signal site socket subprocess tempfile threading "
        "tokenize warnings weakref zipimport "
    )
)
_raise = ctypes.pythonapi.PyThreadState_SetAsyncExc

_watched: dict[int, Meter] = {}
_lock = _thread.allocate_lock()
_alive = False


def watch(meter: Meter) -> None:
    """Look at ``meter``'s run until :func:`forget`."""
    _watched[id(meter)] = meter
    if not _alive:
        _start()


def forget(meter: Meter) -> None:
    """Look at ``meter``'s run no more."""
    _watched.pop(id(meter), None)


def raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise ``kind`` in ``thread`` before its next bytecode; with ``None`` nothing any more."""
    _raise(ctypes.c_ulong(thread), None if kind is None else ctypes.py_object(kind))


def break_off(thread: int, kind: type[BaseException], roots: Iterable[str]) -> bool:
    """Raise ``kind`` in ``thread``, if it is in the program's code or in library code it called.

    Not in the host's code, be it a tool's or the interpreter's own, and not in library code that
    keeps locks or state for the whole process.

    Args:
        thread: its identifier.
        kind: the exception's class.
        roots: top-level packages that count as library code besides Python's own.

    Returns:
        Whether it was raised.
    """
    # Up to Python 3.11 making a frame's object may collect garbage, which runs anybody's Python
    # code and lets that thread go on, in the middle of a call of C code that reads its frames.
    collects = gc.isenabled()
    gc.disable()
    try:
        frame = sys._current_frames().get(thread)
        if frame is None or not _may_break(frame, frozenset(roots)):
            return False
        # Is it still there? Looked at and acted upon in one call of C code, which no other thread
        # interrupts: the exception is raised where that thread goes on.
        here = map(itemgetter(thread), starmap(sys._current_frames, ((),)))
        target = compress((ctypes.c_ulong(thread),), map(operator.is_, here, (frame,)))
        shot = map(_raise, target, (ctypes.py_object(kind),))
        return any(shot)
    except KeyError:
        return False  # the thread is gone
    finally:
        if collects:
            gc.enable()


def _may_break(frame: FrameType | None, roots: frozenset[str]) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PROGRAM_FILES):
            return True
        name = frame.f_globals.get("__name__")
        root = str(name).partition(".")[0]
        if root == _PACKAGE:
            if str(name).rpartition(".")[2] in _OWN_WHOLE:
                return False
        elif root in _WHOLE or not (root in sys.stdlib_module_names or root in roots):
            return False
        frame = frame.f_back
    return False


def _start() -> None:
    global _alive
    with _lock:
        if _alive:
            return
        try:
            # Not of the threading module: nobody waits for it, and it has nothing to finish.
            _thread.start_new_thread(_look, ())
        except RuntimeError:
            return  # no threads here, or no room for one more
        _alive = True


def _look() -> None:
    global _alive
    idle = 0
    while True:
        time.sleep(_PERIOD)
        meters = list(_watched.values())
        idle = 0 if meters else idle + 1
        for meter in meters:
            meter.end_if_late()
        if idle > _IDLE_LOOKS:
            with _lock:
                if not _watched:
                    _alive = False
                    return


def _forked() -> None:
    # The thread stays behind in the parent, perhaps with the lock held; so do other threads' runs.
    global _alive, _lock
    _alive, _lock = False, _thread.allocate_lock()
    _watched.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

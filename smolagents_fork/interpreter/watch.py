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
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .meter import Meter

__all__ = ["forget", "raise_in", "watch"]

#: Seconds between two looks.
_PERIOD = 0.1
#: Looks without a run after which the thread ends.
_IDLE_LOOKS = 50

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
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if kind is None else ctypes.py_object(kind)
    )


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

"""Tracebacks of programs, without the frames of libraries, of the kernel and of this package.

A model can change its own lines only. Like ``agent``, this file is sent as text and does not import
this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import os
import sysconfig
import traceback
import types

_STANDARD = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def of_library(filename):
    """Tell whether the code of a file is neither a cell's nor of a file that the program wrote."""
    if filename.startswith((*_STANDARD, "<frozen ", "<smolagents_fork ")):
        return True
    if any(folder in filename for folder in _PACKAGES):
        return True
    # Cython names a source by its path where the library was built.
    return not (filename.startswith("<") or os.path.isabs(filename) or os.path.exists(filename))


def trim(entry):
    """Copy a traceback without the frames of libraries; ``None`` if it has no others."""
    entries = []
    while entry is not None:
        if not of_library(entry.tb_frame.f_code.co_filename):
            entries.append(entry)
        entry = entry.tb_next
    made = None
    for one in reversed(entries):
        made = types.TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def group_lines(error):
    """Format a group of exceptions, whose members have tracebacks of their own."""
    whole = traceback.TracebackException(type(error), error, error.__traceback__)
    pending = [whole]
    while pending:
        one = pending.pop()
        one.stack[:] = [frame for frame in one.stack if not of_library(frame.filename)]
        chained = (one.__cause__, one.__context__, *(one.exceptions or ()))
        pending += [other for other in chained if other is not None]
    return "".join(whole.format()).splitlines()

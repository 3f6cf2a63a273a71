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
    chain = None
    for link in reversed(entries):
        chain = types.TracebackType(chain, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return chain


def group_lines(error):
    """Format a group of exceptions, whose members have tracebacks of their own."""
    whole = traceback.TracebackException(type(error), error, error.__traceback__)
    pending = [whole]
    while pending:
        exception = pending.pop()
        exception.stack[:] = [frame for frame in exception.stack if not of_library(frame.filename)]
        chained = (exception.__cause__, exception.__context__, *(exception.exceptions or ()))
        pending += [other for other in chained if other is not None]
    return "".join(whole.format()).splitlines()

"""Tracebacks of programs, without the frames of libraries, of the kernel and of this package.

A model can change its own lines only. Like ``agent``, this file is sent as text and does not import
this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import ast
import itertools
import linecache
import os
import sysconfig
import traceback
import types

_STANDARD = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
# Frames shown of one traceback, as the other executors show.
_MOST_FRAMES = 10
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


def hint_for(hint, error, entry):
    """Return a hint for an error, or the empty string.

    Args:
        hint: the function of that name in ``text.hints``.
        entry: the error's traceback as :func:`trim` returns it.
    """
    innermost = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
    return hint(error, ast.parse("".join(lines)), entry, innermost.tb_frame is entry.tb_frame)


def limit_frames(lines):
    """Keep the first and the last frames of each traceback, in which a frame is one text."""
    kept = []
    for is_frame, run in itertools.groupby(lines, lambda line: line.startswith("  ")):
        run = list(run)
        if is_frame and len(run) > _MOST_FRAMES:
            run[1 : 1 - _MOST_FRAMES] = [f"  ... {len(run) - _MOST_FRAMES} more ...\n"]
        kept += run
    return kept


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

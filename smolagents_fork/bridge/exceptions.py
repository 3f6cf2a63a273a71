"""Descriptions of host exceptions for a sandbox: a builtin type and a message without secrets.

They contain no traceback, local variables, classes of the host or paths of its file system.
"""

from __future__ import annotations

import builtins
import os
import re
import signal
import threading
import traceback
from typing import Any

from ..text.texts import read_members, read_notes

__all__ = ["describe_exception", "raised_by_signal"]

_LONGEST_MESSAGE = 10_000
# Raised in a generator of the program, these would end it silently (see PEP 479).
_NOT_SENT = frozenset({"StopIteration", "StopAsyncIteration"})
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+")
# A path of at least two parts, not one inside a URL or a word.
_POSIX_PATH = re.compile(r"(?<![\w:/.~])/([\w.+@-]+)/[\w.+@/-]*|(?<!\w)~/[\w.+@/-]+")
_WINDOWS_PATH = re.compile(r"(?<!\w)[A-Za-z]:\\[^\s'\"]+|\\\\[\w.$-]+\\[^\s'\"]+")


def describe_exception(error: BaseException) -> list[Any]:
    """Return ``[type, arguments, message, notes]`` for the reply.

    The type is the nearest builtin one that a message alone can build; another type is named in
    the message, and so are the exceptions of a group. A type whose only such base is
    ``Exception`` becomes a ``RuntimeError``. So do ``SystemExit``, ``KeyboardInterrupt`` and
    ``GeneratorExit``: raised in the program, they would end it silently.
    """
    error_type = next((base for base in type(error).__mro__ if _is_builtin(base)), Exception)
    message = scrub_message(_text(error) + read_members(error, _text))
    notes = scrub_message(read_notes(error).removeprefix("\n"))
    exact = error_type is type(error)
    if error_type.__name__ in _NOT_SENT or (error_type is Exception and not exact):
        error_type, exact = RuntimeError, False
    if not exact:
        return [error_type.__name__, [f"{type(error).__name__}: {message}"], message, notes]
    args = [scrub_message(arg) if isinstance(arg, str) else arg for arg in error.args]
    if isinstance(error, OSError) and len(args) == 2 and error.filename is not None:
        # The file names are not in args, but the constructor takes them as arguments.
        args.append(scrub_message(str(error.filename)))
        if error.filename2 is not None:
            args += [None, scrub_message(str(error.filename2))]
    if not all(arg is None or type(arg) in (str, int, float, bool) for arg in args):
        args = [message]
    return [error_type.__name__, args, message, notes]


def raised_by_signal(error: BaseException) -> bool:
    """Tell whether a signal's handler raised ``error`` in this thread, and not the running tool.

    Python runs handlers in the main thread, where ``KeyboardInterrupt`` counts as Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {
        getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers
    }
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def scrub_message(message: str) -> str:
    """Remove tracebacks and paths of this machine from ``message``, and truncate it."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}... ({len(message)} characters)"
    message = _TRACEBACK.sub("", message)
    message = _WINDOWS_PATH.sub("<host path>", message)
    return _POSIX_PATH.sub(_hidden_if_here, message)


def _hidden_if_here(match: re.Match[str]) -> str:
    # "/api/v2/users" of a web service stays; a path below a folder of this machine is hidden.
    first = match.group(1)
    return "<host path>" if first is None or os.path.isdir(f"/{first}") else match.group()


def _is_builtin(cls: type) -> bool:
    """Return whether a class is a builtin exception that a message alone can build."""
    if getattr(builtins, cls.__name__, None) is not cls or not issubclass(cls, Exception):
        return False
    try:
        cls("")
    except TypeError:  # of UnicodeDecodeError, ExceptionGroup
        return False
    return True


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return f"<{type(error).__name__} without a readable message>"

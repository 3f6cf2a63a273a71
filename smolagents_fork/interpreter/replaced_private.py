"""logging, argparse, weakref and traceback: an interpreter has its own ones.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import ProgramRefusedError
from .build import words
from .data_memory import refuse_protocols
from .formats import guarded_format
from .ownership import is_dunder
from .private_copies import Instead, private_copy, public

__all__ = ["MAKERS"]

_OF_THE_STACK = words(
    "walk_stack walk_tb print_stack extract_stack extract_tb format_stack format_tb print_last "
    "print_tb clear_frames"
)


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refuse(*_arguments: Any, **_keywords: Any) -> NoReturn:
        raise ProgramRefusedError(f"Forbidden: {what}")

    return refuse


def _streams(interpreter: Any, **more: Any) -> Instead:
    """``sys``, with the program's own streams."""
    streams = {"stdout": interpreter.stdout, "stderr": interpreter.stderr}
    return Instead(sys, argv=["program"], **streams, **more)


def _no_exit() -> Instead:
    return Instead(None, register=lambda *_arguments, **_keywords: None)


def _logging(modules: Any) -> dict[str, Any]:
    guards, sizes = modules.guards, modules.sizes
    files = _refusing("logging writes to no file here; what is logged goes into the program's logs")
    system = Instead(None, path=os.path, getpid=os.getpid, fspath=os.fspath, PathLike=os.PathLike)
    # The stack is the host's.
    texts = Instead(traceback, print_exception=_print_exception, print_stack=lambda *_a, **_k: None)
    space = private_copy(
        "logging",
        {"open": files},
        {
            "sys": _streams(modules, modules={}),
            "os": system,
            "atexit": _no_exit(),
            "traceback": texts,
        },
    )
    space["FileHandler"] = files
    logger, make, made_of = space["Logger"], space["Logger"].makeRecord, space["makeLogRecord"]

    def makeRecord(self: Any, *arguments: Any, **keywords: Any) -> Any:
        given = list(arguments)
        if len(given) > 6 and type(given[6]) is tuple:
            given[6] = (*given[6][:2], None)  # exc_info, without the traceback
        if len(given) > 8 and given[8] is not None:
            given[8] = _attributes(given[8])
        elif keywords.get("extra") is not None:
            keywords["extra"] = _attributes(keywords["extra"])
        return make(self, *given, **keywords)

    def makeLogRecord(dict: Any) -> Any:
        return made_of(_attributes(dict))

    def getMessage(self: Any) -> str:
        message = str(self.msg)
        return str(sizes.modulo(message, self.args)) if self.args else message

    def filled(self: Any, record: Any) -> str:
        values = {**(getattr(self, "_defaults", None) or {}), **vars(record)}
        return sizes.modulo(self._fmt, values)  # type: ignore[no-any-return]

    def formatted(self: Any, record: Any) -> str:
        values = {**(getattr(self, "_defaults", None) or {}), **vars(record)}
        return guarded_format(self._fmt, "format", guards.read, sizes)(**values)

    def handleError(_self: Any, record: Any) -> None:
        # Without the stack, which is the host's.
        kind, error = sys.exc_info()[:2]
        said = "".join(traceback.format_exception_only(kind, error))
        modules.stderr.write(
            f"--- Logging error ---\n{said}Message: {record.msg!r}\nArguments: {record.args!r}\n"
        )

    space["Handler"].handleError = handleError
    logger.makeRecord = makeRecord
    space["makeLogRecord"] = makeLogRecord
    space["LogRecord"].getMessage = getMessage
    space["PercentStyle"]._format = filled
    space["StrFormatStyle"]._format = formatted
    return public(space, "logging", "FileHandler", "captureWarnings", "currentframe")


def _attributes(given: Any) -> dict[str, Any]:
    """Attributes to be set on an object of a library's, which cannot be others later."""
    found = dict(given)
    refuse_protocols(found)
    return found


def _print_exception(kind: Any, value: Any, tb: Any, limit: Any = None, file: Any = None) -> None:
    stack = tb or getattr(value, "__traceback__", None)
    traceback.print_exception(kind, value, stack, limit, file)


def _argparse(modules: Any) -> dict[str, Any]:
    guards = modules.guards
    space: dict[str, Any] = {}

    def is_its_own(value: Any) -> bool:
        names = ("_AttributeHolder", "_ActionsContainer", "HelpFormatter")
        return isinstance(value, tuple(space[one] for one in names if one in space))

    def getattr_(value: Any, name: str, *default: Any) -> Any:
        return (getattr if is_its_own(value) else guards.getattr_)(value, name, *default)

    def hasattr_(value: Any, name: str) -> bool:
        return (hasattr if is_its_own(value) else guards.hasattr_)(value, name)

    def setattr_(value: Any, name: str, new: Any) -> None:
        if not is_its_own(value):
            guards.setattr_(value, name, new)
        elif not isinstance(name, str) or is_dunder(str.__str__(name)):
            raise ProgramRefusedError(f"Forbidden name of an argument: {name!r}")
        else:
            setattr(value, str.__str__(name), new)

    files = _refusing("argparse reads no file here")
    space.update(
        private_copy(
            "argparse",
            {"getattr": getattr_, "hasattr": hasattr_, "setattr": setattr_, "open": files},
            {"sys": _streams(modules)},
        )
    )
    return public(space, "argparse", "FileType")


def _weakref(modules: Any) -> dict[str, Any]:
    guards = modules.guards
    space = private_copy("weakref", {}, {"atexit": _no_exit()})
    found, count = space["getweakrefs"], space["getweakrefcount"]

    def getweakrefs(object: Any, /) -> Any:
        return found(object) if guards.is_own(object) else []

    def getweakrefcount(object: Any, /) -> int:
        return count(object) if guards.is_own(object) else 0

    space.update(getweakrefs=getweakrefs, getweakrefcount=getweakrefcount)
    return public(space, "weakref")


def _traceback(modules: Any) -> dict[str, Any]:
    # Lines of the host's files, and of other programs.
    lines = Instead(
        None,
        getline=lambda *_arguments, **_keywords: "",
        getlines=lambda *_arguments, **_keywords: [],
        # From Python 3.13 on, what a code object was compiled of.
        _getline_from_code=lambda *_arguments: "",
        _getlines_from_code=lambda *_arguments: [],
        checkcache=lambda *_arguments: None,
        lazycache=lambda *_arguments: False,
    )
    imports = {"linecache": lines, "sys": _streams(modules)}
    space = private_copy("traceback", {}, imports)
    told = space["TracebackException"].__init__

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        # Local variables of the tools that raised are the host's.
        told(self, *arguments, **{**keywords, "capture_locals": False})

    space["TracebackException"].__init__ = __init__
    # The stack is the host's, and walking gives frames.
    return public(space, "traceback", *_OF_THE_STACK)


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "argparse": _argparse,
    "logging": _logging,
    "traceback": _traceback,
    "weakref": _weakref,
}

"""Errors that leave a call of the local executor, with causes that run no code.

Each class of :mod:`smolagents_fork.errors` that a program's end can be is here once more, under the
same name, and is upstream's error too: handlers of both sides catch it, and pickle finds it.

A cause is an exception of the program's. Whoever formats or logs the error formats its cause, and
would run what the program's classes define, without limits. So a cause is replaced by one of the
same name, text, traceback and builtin base, unless its class is the host's.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from .. import errors, upstream
from ..errors import InterpreterError, TimeLimitExceededError
from ..texts import (
    chained_anew,
    class_name,
    exact_text,
    exception_field,
    is_static,
    name_of_class,
)

__all__ = ["as_upstreams", "is_class_of_host", "settled_cause"]

#: As the child process has it.
_LONGEST_MESSAGE = 80_000
#: How deep groups of exceptions are kept.
_DEEPEST_GROUP = 10
_PLAIN = (str, int, float, bool, type(None))
_MODULE, _QUALNAME = vars(type)["__module__"], vars(type)["__qualname__"]
# 3.10 has none.
_GROUP: type[BaseException] | None = getattr(builtins, "BaseExceptionGroup", None)


def _joined(kind: type[InterpreterError]) -> type[InterpreterError]:
    timeout = issubclass(kind, TimeLimitExceededError)
    theirs = upstream.ExecutionTimeoutError if timeout else upstream.InterpreterError
    names = {"__module__": __name__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, theirs), names)


_JOINED = {
    kind: _joined(kind)
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, InterpreterError)
}
# Under their names, by which pickle finds them.
globals().update({kind.__name__: made for kind, made in _JOINED.items()})


def as_upstreams(
    error: InterpreterError, text_of: Callable[[BaseException], str] = class_name
) -> InterpreterError:
    """``error`` as a class that is upstream's error too, with its cause settled.

    Args:
        error: the interpreter's.
        text_of: makes the text of an exception within the limits of a call.
    """
    kind = next(kind for kind in type(error).__mro__ if kind in _JOINED)
    message = exact_text(str(error))
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}... ({len(message)} characters)"
    made = _JOINED[kind](message)
    made.__cause__ = settled_cause(error.__cause__, text_of)
    return made


def settled_cause(
    error: BaseException | None, text_of: Callable[[BaseException], str]
) -> BaseException | None:
    """``error`` and those it is chained to, without anything that runs a program's code.

    Args:
        error: a program's exception; ``None`` for none.
        text_of: makes the text of an exception whose class defines it.
    """
    return chained_anew(error, lambda link: _settled(link, text_of, 0))


def _settled(error: BaseException, text_of: Callable[[BaseException], str], depth: int) -> Any:
    kind, arguments = type(error), exception_field(error, "args")
    plain = all(type(one) in _PLAIN for one in arguments)
    if plain and is_class_of_host(kind) and not _is_builtin(kind):
        return error
    made: BaseException | None = None
    if _GROUP is not None and issubclass(kind, _GROUP):
        made = _settled_group(error, text_of, depth)
    elif plain and _is_builtin(kind):
        made = kind(*arguments)
    if made is None:
        made = _stand_in(error, text_of(error))
    return made.with_traceback(exception_field(error, "__traceback__"))


def _settled_group(
    error: BaseException, text_of: Callable[[BaseException], str], depth: int
) -> BaseException | None:
    assert _GROUP is not None
    message = vars(_GROUP)["message"].__get__(error)
    members = vars(_GROUP)["exceptions"].__get__(error)
    if depth >= _DEEPEST_GROUP or type(message) is not str:
        return None
    return _GROUP(message, [_settled(one, text_of, depth + 1) for one in members])


def _stand_in(error: BaseException, text: str) -> BaseException:
    """An exception of the same name and builtin base, with ``text``."""
    base = next(kind for kind in type(error).__mro__ if _is_builtin(kind))
    if _GROUP is not None and issubclass(base, _GROUP):
        base = Exception
    names = {"__module__": __name__, "__str__": lambda _: text}
    kind: Any = type(class_name(error), (base,), names)
    made: BaseException = kind.__new__(kind)
    made.args = (text,)
    return made


def _is_builtin(kind: type) -> bool:
    return vars(builtins).get(name_of_class(kind)) is kind


def is_class_of_host(kind: type) -> bool:
    """Tell whether ``kind`` is found in a module of the host under its own name.

    A registry of what programs made would not do: a class that a program has library code make,
    such as ``abc.ABCMeta("E", (Exception,), {...})``, is not in it and is not the host's either.
    """
    if is_static(kind):
        return True
    module, path = _MODULE.__get__(kind), _QUALNAME.__get__(kind)
    found: Any = sys.modules.get(module) if type(module) is str else None
    for name in exact_text(path).split("."):
        if found is None:
            return False
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is kind

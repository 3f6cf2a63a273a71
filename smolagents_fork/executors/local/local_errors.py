"""Errors that calls of the local executor raise, with causes that run no code of the program.

For each class of :mod:`smolagents_fork.errors` that can end a program there is a class of the same
name that is also upstream's error. Handlers of both catch it, and pickle finds it.

A cause is an exception of the program. To format or log the error formats its cause, which would
run methods of the program's classes without limits. So a cause is replaced by an exception of the
same name, text, traceback and builtin base, unless its class is the host's.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from ... import errors, upstream
from ...errors import InterpreterError, TimeLimitExceededError
from ...text.hints import advice
from ...text.texts import (
    class_name,
    encodable,
    exact_text,
    exception_field,
    is_static,
    name_of_class,
    rebuild_chain,
)

__all__ = ["as_upstreams", "is_class_of_host", "passive_cause"]

#: As in the child process.
_LONGEST_MESSAGE = 80_000
#: Depth to which groups of exceptions are copied.
_DEEPEST_GROUP = 10
_PLAIN = (str, int, float, bool, type(None))
_MODULE, _QUALNAME = vars(type)["__module__"], vars(type)["__qualname__"]
# 3.10 has none.
_GROUP: type[BaseException] | None = getattr(builtins, "BaseExceptionGroup", None)


def _join_types(error_type: type[InterpreterError]) -> type[InterpreterError]:
    timeout = issubclass(error_type, TimeLimitExceededError)
    theirs = upstream.ExecutionTimeoutError if timeout else upstream.InterpreterError
    names = {"__module__": __name__, "__doc__": error_type.__doc__}
    return type(error_type.__name__, (error_type, theirs), names)


_JOINED = {
    error_type: _join_types(error_type)
    for error_type in vars(errors).values()
    if isinstance(error_type, type) and issubclass(error_type, InterpreterError)
}
# Under their names, by which pickle finds them.
globals().update({error_type.__name__: joined for error_type, joined in _JOINED.items()})


def as_upstreams(
    error: InterpreterError,
    text_of: Callable[[BaseException], str] = class_name,
    more_advice: str = "",
) -> InterpreterError:
    """Return ``error`` as a class that is upstream's error too, with a passive cause.

    Args:
        text_of: makes the text of an exception within the limits of a call.
        more_advice: lines that follow those of :func:`.hints.advice`.
    """
    error_type = next(error_type for error_type in type(error).__mro__ if error_type in _JOINED)
    message = encodable(exact_text(str(error)))
    help_ = advice(message) + more_advice
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}... ({len(message)} characters)"
    message += help_
    upstream_error = _JOINED[error_type](message)
    upstream_error.__cause__ = passive_cause(error.__cause__, text_of)
    return upstream_error


def passive_cause(
    error: BaseException | None, text_of: Callable[[BaseException], str]
) -> BaseException | None:
    """Return ``error`` and its chain without classes whose methods run a program's code.

    Args:
        error: a program's exception; ``None`` for none.
        text_of: makes the text of an exception whose class defines it.
    """
    return rebuild_chain(error, lambda link: _passive(link, text_of, 0))


def _passive(error: BaseException, text_of: Callable[[BaseException], str], depth: int) -> Any:
    error_type, arguments = type(error), exception_field(error, "args")
    plain = all(type(argument) in _PLAIN for argument in arguments)
    if plain and is_class_of_host(error_type) and not _is_builtin(error_type):
        return error
    replacement: BaseException | None = None
    if _GROUP is not None and issubclass(error_type, _GROUP):
        replacement = _passive_group(error, text_of, depth)
    elif plain and _is_builtin(error_type):
        replacement = error_type(
            *(encodable(argument) if type(argument) is str else argument for argument in arguments)
        )
    if replacement is None:
        replacement = _stand_in(error, encodable(text_of(error)))
    return replacement.with_traceback(exception_field(error, "__traceback__"))


def _passive_group(
    error: BaseException, text_of: Callable[[BaseException], str], depth: int
) -> BaseException | None:
    assert _GROUP is not None
    message = vars(_GROUP)["message"].__get__(error)
    members = vars(_GROUP)["exceptions"].__get__(error)
    if depth >= _DEEPEST_GROUP or type(message) is not str:
        return None
    return _GROUP(message, [_passive(member, text_of, depth + 1) for member in members])


def _stand_in(error: BaseException, text: str) -> BaseException:
    """Make an exception of the same name and builtin base, with ``text``."""
    base = next(cls for cls in type(error).__mro__ if _is_builtin(cls))
    if _GROUP is not None and issubclass(base, _GROUP):
        base = Exception
    names = {"__module__": __name__, "__str__": lambda _: text}
    stand_in_type: Any = type(class_name(error), (base,), names)
    stand_in: BaseException = stand_in_type.__new__(stand_in_type)
    stand_in.args = (text,)
    return stand_in


def _is_builtin(cls: type) -> bool:
    return vars(builtins).get(name_of_class(cls)) is cls


def is_class_of_host(kind: type) -> bool:
    """Tell whether ``kind`` is found in a module of the host under its own name.

    A registry of classes that programs made is not enough. It lacks a class that a program makes by
    library code, such as ``abc.ABCMeta("E", (Exception,), {...})``, which is not the host's either.
    """
    if is_static(kind):
        return True
    module, path = _MODULE.__get__(kind), _QUALNAME.__get__(kind)
    member: Any = sys.modules.get(module) if type(module) is str else None
    for name in exact_text(path).split("."):
        if member is None:
            return False
        member = vars(member).get(name) if hasattr(member, "__dict__") else None
    return member is kind

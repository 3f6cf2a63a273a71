"""Sandbox side of a call to the host: stubs, and the frames they exchange.

A *stub* is a function in the sandbox with the name, signature and docstring of a tool on the host.
Calling it binds the arguments as Python does, sends them, waits, and returns the host's value or
raises the host's exception. Each frame is one encoding of this codec. The transport delivers the
frames::

    request   {"call": 7, "name": "search", "args": [], "kwargs": {"query": "x"}}
    reply     {"call": 7, "value": ...}
              {"call": 7, "error": ["KeyError", ["x"], "'x'", ""]} type, arguments, message, notes
              {"call": 7, "final": true}                           the final answer was accepted
              {"call": 7, "over": "tools"}                         the run reached a limit
              {"call": null, "over": "timeout"}                    the run has ended (or "final")
              {"call": null, "error": [...]}                       the host refused the call

Numbers grow from call to call. In a run, the host refuses one that is not above the last, and a
reply names its call.

This module is sent into sandboxes with the rest of the codec.
"""

from __future__ import annotations

import builtins
import inspect
import json
import keyword
import threading
import weakref
from collections.abc import Callable
from typing import Any

from smolagents_fork.codec.attachments import Attachments
from smolagents_fork.codec.decoder import decode
from smolagents_fork.codec.encoder import encode
from smolagents_fork.codec.limits import DEFAULT_MAX_BYTES, RAISE_VALUE_BYTES
from smolagents_fork.errors import DecodeError, EncodeError

# One parameter of a signature as sent: name, kind, and the repr of the default or None.
ParameterSpec = list[Any]
_KINDS = {
    kind.name: kind
    for kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    )
}
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_POSITION = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
# Shown as the default of a required parameter behind an optional one.
_REQUIRED = "<required>"
# A default longer than this is shown as "...": enough for "celsius", too short for most secrets.
_LONGEST_SHOWN_TEXT = 16
# Message for a thread that outlives its run, and for a run that has ended.
RUN_ENDED = "tools can be called while the code runs; it has ended"
# Maximum number of pieces of a request; the host takes 64 parts of a message, heads included.
_MOST_PIECES = 32
_ANY_SIZE = 1 << 62
# Maximum length of the text before the name in a request.
_NUMBER_ROOM = len('{"call":,') + 20


class ShownDefault:
    """Placeholder for a default value that stays on the host; shows its ``repr``."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class HostCalls:
    """Sender of calls to the host, one at a time; other threads wait.

    Args:
        send: sends a request in pieces, one an argument, blocks, and returns the host's reply.
            Long pieces are the arguments' own memory, which has to be sent when it returns.
        finish: called when the host has accepted a final answer; ends the run by raising.
        max_bytes: largest request, in bytes. One argument, or all arguments together, above it
            raise ``EncodeError``.
        stop: called when the host serves no more calls of the run; ends the run by raising.
    """

    def __init__(
        self,
        send: Callable[..., bytes | bytearray],
        finish: Callable[[], Any],
        max_bytes: int = DEFAULT_MAX_BYTES,
        stop: Callable[[], Any] = lambda: None,
    ) -> None:
        self._send = send
        self._finish = finish
        self._stop = stop
        self._refused: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._last = 0

    def quiet(self) -> Any:
        """Return a context without a pending call; entering it waits for the current one."""
        return self._lock

    def refuse_threads(self) -> None:
        """Refuse all further calls from the threads that exist now, except the main thread.

        Called at the end of a run that gave its final answer, reached a limit or was interrupted.
        Its threads must not call tools in later runs.
        """
        main = threading.main_thread()
        self._refused.update(thread for thread in threading.enumerate() if thread is not main)

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call ``name`` on the host and return its value, or raise its exception."""
        if self._refused and threading.current_thread() in self._refused:
            raise RuntimeError(RUN_ENDED)
        attachments = Attachments()

        def encode_value(value: Any, argument: object) -> bytes:
            path = f"argument {argument} of {name}()"
            return encode(
                value,
                path=path,
                max_bytes=self._max_bytes,
                attachments=attachments,
                remedy=RAISE_VALUE_BYTES,
            )

        parts = [encode_value(value, number) for number, value in enumerate(args, 1)]
        named = [
            json.dumps(key).encode() + b":" + encode_value(value, repr(key))
            for key, value in kwargs.items()
        ]
        rest = b'"name":%s,"args":[%s],"kwargs":{%s}}' % (
            json.dumps(name).encode(), b",".join(parts), b",".join(named)
        )  # fmt: skip
        size = len(rest) + _NUMBER_ROOM + attachments.size
        if size > self._max_bytes:
            # Each argument fits. The host would refuse the request without naming the call.
            raise EncodeError(
                f"arguments of {name}(): their encoding of {size} bytes is over "
                f"{self._max_bytes} bytes{RAISE_VALUE_BYTES}"
            )
        with self._lock:
            # Numbers are assigned in the order of sending; a call that is abandoned keeps its own.
            self._last += 1
            number = self._last
            pieces = attachments.parts(b'{"call":%d,%s' % (number, rest))
            if len(pieces) > _MOST_PIECES:
                pieces = [b"".join(pieces)]
            # The host has its own limit, and is trusted.
            reply = decode(self._send(*pieces), path=f"result of {name}()", max_bytes=_ANY_SIZE)
        attachments.release()
        if type(reply) is not dict or reply.get("call") not in (number, None):
            raise DecodeError(f"result of {name}(): not a reply to this call")
        if "error" in reply:
            raise rebuilt_exception(*reply["error"])
        if "final" in reply:
            self._finish()
        if "over" in reply:
            self._stop()
            raise RuntimeError(RUN_ENDED)
        return reply.get("value")

    def stub(self, name: str, doc: str, parameters: list[ParameterSpec], unpack: bool) -> Any:
        """Return a function that calls the tool ``name``.

        Args:
            name: an identifier.
            doc: the text that ``help()`` shows.
            parameters: see :func:`signature_of`.
            unpack: whether a single positional dict contains the arguments by name, as smolagents'
                tools allow.
        """
        signature, bind = signature_of(parameters), make_binding(name, parameters, unpack)

        def function(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, *bind(*args, **kwargs))

        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        function.__module__ = "__main__"
        function.__annotations__ = {}  # of these lines, not of the tool
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function


def make_binding(
    name: str, parameters: list[ParameterSpec], unpack: bool
) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """Return a function that converts its arguments to those the tool ``name`` is called with.

    Args:
        name: an identifier.
        parameters: see :func:`signature_of`.
        unpack: whether a single positional dict contains the arguments by name, as smolagents'
            tools allow.
    """
    binder = make_binder(name, parameters)
    names = {spec[0] for spec in parameters}

    def bind(*args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        if unpack and len(args) == 1 and not kwargs and type(args[0]) is dict:
            arguments = args[0]
            if arguments and all(key in names for key in arguments):
                args, kwargs = (), arguments
        return split_arguments(parameters, binder(*args, **kwargs))

    return bind


def show_default(default: Any) -> str | None:
    """Format a default value; the value itself stays on the host, since it may be a secret."""
    if default is inspect.Parameter.empty:
        return None
    simple = default is None or type(default) in (bool, int, float, ShownDefault)
    if simple or (type(default) is str and len(default) <= _LONGEST_SHOWN_TEXT):
        return repr(default)
    return "..."


def is_nameable(name: str) -> bool:
    """Tell whether code can write ``name`` in a signature, and as a keyword of a call."""
    return name.isidentifier() and not keyword.iskeyword(name)


def signature_of(parameters: list[ParameterSpec]) -> inspect.Signature:
    """Build the signature described by ``[name, kind, repr of default or None]`` entries.

    A parameter whose name code cannot write is shown as part of ``**kwargs``, and those behind it
    as keyword-only. A required parameter behind an optional one shows ``<required>``.
    """
    shown: list[inspect.Parameter] = []
    is_optional = is_unnameable = False
    for name, kind_name, default in parameters:
        kind = _KINDS[kind_name]
        if not is_nameable(name):
            is_unnameable = True
            continue
        if is_unnameable and kind is _POSITIONAL:
            kind = inspect.Parameter.KEYWORD_ONLY
        if default is None and is_optional and kind is _POSITIONAL:
            default = _REQUIRED
        is_optional = is_optional or default is not None
        value = inspect.Parameter.empty if default is None else ShownDefault(default)
        shown.append(inspect.Parameter(name, kind, default=value))
    if is_unnameable and not any(p.kind is p.VAR_KEYWORD for p in shown):
        more = "kwargs"
        while any(p.name == more for p in shown):
            more += "_"
        shown.append(inspect.Parameter(more, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(shown)


def make_binder(name: str, parameters: list[ParameterSpec]) -> Callable[..., dict[str, Any]]:
    """Return a function called ``name`` that returns its arguments by name.

    It is a real function with the real parameters, so CPython binds the arguments and words the
    errors. The name must be an identifier. The parameters have any names: they are compiled under
    others, which the code object then gets in their place.
    """
    if not name.isidentifier():
        raise ValueError(f"{name!r} is not an identifier")
    defaults: dict[str, Any] = {}
    late: list[str] = []  # required ones behind an optional one, for which Python has no syntax
    compiled = []
    for number, (own_name, kind, default) in enumerate(parameters):
        if default is not None:
            defaults[own_name] = ShownDefault(default)
        elif defaults and kind in _BY_POSITION:
            defaults[own_name] = ShownDefault(_REQUIRED)
            late.append(own_name)
        value = None if own_name in defaults else inspect.Parameter.empty
        compiled.append(inspect.Parameter(f"p{number}", _KINDS[kind], default=value))
    text = f"def {name}{inspect.Signature(compiled)}: return locals()"
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    function: Any = namespace[name]
    names = tuple(parameters[int(hidden[1:])][0] for hidden in function.__code__.co_varnames)
    function.__code__ = function.__code__.replace(co_varnames=names)
    by_keyword = {spec[0] for spec in parameters if spec[1] == "KEYWORD_ONLY"}
    function.__defaults__ = tuple(v for n, v in defaults.items() if n not in by_keyword) or None
    function.__kwdefaults__ = {n: v for n, v in defaults.items() if n in by_keyword}
    if not late:
        return function  # type: ignore[no-any-return]

    def check_arguments(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound: dict[str, Any] = function(*args, **kwargs)
        missing = [own for own in late if bound[own] is defaults[own]]
        if missing:  # in Python's words, by a function without any other parameter
            make_binder(name, [[own, "POSITIONAL_OR_KEYWORD", None] for own in missing])()
        return bound

    return check_arguments


def split_arguments(
    parameters: list[ParameterSpec], bound: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Split bound arguments into positional and keyword ones, omitting unset defaults."""
    kinds = {spec[0]: spec[1] for spec in parameters}
    by_position = "VAR_POSITIONAL" in kinds.values()
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = bound[name]
        if kind == "VAR_POSITIONAL":
            args.extend(value)
        elif kind == "VAR_KEYWORD":
            kwargs.update(value)
        elif type(value) is ShownDefault:
            by_position = False  # later arguments have lost their position
        elif kind == "POSITIONAL_ONLY" or (kind == "POSITIONAL_OR_KEYWORD" and by_position):
            args.append(value)
        else:
            kwargs[name] = value
    return args, kwargs


def rebuilt_exception(kind: Any, args: Any, message: Any, notes: Any) -> Exception:
    """Build the exception that a reply describes: always a builtin, never a class from the data."""
    error_type: Any = getattr(builtins, kind, None) if isinstance(kind, str) else None
    if not (isinstance(error_type, type) and issubclass(error_type, Exception)):
        error_type = RuntimeError
    try:
        error = error_type(*args)
    except Exception:
        error = RuntimeError(message)  # the constructor needs other arguments
    if notes:
        error.__notes__ = [notes]
    return error  # type: ignore[no-any-return]

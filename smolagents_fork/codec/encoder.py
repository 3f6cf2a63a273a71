"""Values to JSON.

Some values are plain JSON: null, true, false, finite floats, integers of 64 bits, well-formed
strings, lists, and dicts with string keys. All other values are objects whose key ``$`` names the
type. A dict that has a key ``$`` itself is written as a list of pairs.

The modules of ``types`` add what they know to :data:`ENCODERS` and :data:`ENCODER_FINDERS`. An
instance of a subclass is encoded as the type that it is based on, unless the subclass has a rule of
its own, as enums, named tuples, dataclasses and the types of numpy, pandas and Pillow have. An
object that is referenced twice is written twice. An object that contains itself is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from smolagents_fork.codec.attachments import Attachments, raw_view
from smolagents_fork.codec.limits import (
    ATTACHED_FROM,
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_ITEMS,
    MAX_INT_BITS,
    SMALL_INT,
    Budget,
    Fault,
    check_items,
    to_base64,
    too_many_items,
)
from smolagents_fork.errors import EncodeError

# Methods by which tables and arrays of other libraries become those that can be encoded.
_CONVERSIONS = ("to_pandas", "toPandas", "to_numpy", "numpy", "toarray", "collect")
_JSON_WRITER = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":"))

#: Returns the tree of JSON for a value: null, bool, int, float, text, lists, and dicts.
Encode = Callable[["Encoder", Any], Any]
#: Encoders by type. Subclasses have the first that fits: a type stands before those it is based on.
ENCODERS: dict[type, Encode] = {}
#: Functions that return the encoder of a type, or ``None`` if they do not know the type.
ENCODER_FINDERS: list[Callable[[type], Encode | None]] = []


def encode(
    value: Any,
    *,
    path: str = "value",
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int = DEFAULT_MAX_ITEMS,
    attachments: Attachments | None = None,
    remedy: str = "",
) -> bytes:
    """Encode ``value`` as JSON text in ASCII.

    Args:
        value: any value of the types that the codec's documentation lists, nested to any depth.
        path: the name of the value in messages, such as ``vars`` or ``argument 'query'``.
        max_bytes: largest encoding, in bytes.
        max_depth: deepest nesting of containers.
        max_items: largest number of JSON items (list entries, dict entries).
        attachments: takes long raw data, which is base64 in the text without it; the text is then
            part of a message, see :meth:`Attachments.message`. Several values may share it.
        remedy: end of the message about more than ``max_bytes``, such as ``; raise max_bytes=``.

    Raises:
        EncodeError: a part cannot be encoded, or a limit is exceeded; names the path to it.
    """
    encoder = Encoder(max_bytes, max_depth, max_items, attachments, remedy)
    before, size_before = (0, 0) if attachments is None else (len(attachments), attachments.size)
    try:
        tree = encoder.value(value)
        # A writer is made for each call: an int, the commonest of all, does not need one.
        data = b"%d" % tree if type(tree) is int else _JSON_WRITER.encode(tree).encode("ascii")
        size = len(data) + (0 if attachments is None else attachments.size - size_before)
        if size > max_bytes:
            raise Fault(f"its encoding of {size} bytes is over {max_bytes} bytes{remedy}")
        if encoder.expected:
            Budget(size).charge(*encoder.expected)
        check_items(data, max_items)
    except (Fault, RecursionError, ValueError, TypeError) as error:
        if attachments is not None:
            attachments.remove_from(before)
        if isinstance(error, Fault):
            raise EncodeError(error.at(path)) from error.__cause__
        # Raised, for example, if another thread changes a container while it is read.
        raise EncodeError(f"{path}: cannot be encoded: {error}") from error
    return data


def encode_parts(value: Any, *, max_bytes: int) -> list[bytes | memoryview]:
    """Do as :func:`encode_message`, in pieces; long raw data is the value's own memory.

    Args:
        value: Value as for :func:`encode`; it stays as it is until the pieces are sent.
        max_bytes: largest encoding, in bytes.

    Raises:
        EncodeError: as :func:`encode`.
    """
    attachments = Attachments()
    return attachments.parts(encode(value, max_bytes=max_bytes, attachments=attachments))


def encode_message(value: Any, *, path: str = "value", max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Encode ``value`` for a connection that carries bytes: long raw data is not base64.

    Args:
        value: Value as for :func:`encode`.
        path: the name of the value in messages.
        max_bytes: largest encoding, in bytes.

    Raises:
        EncodeError: as :func:`encode`.
    """
    attachments = Attachments()
    return attachments.message(
        encode(value, path=path, max_bytes=max_bytes, attachments=attachments)
    )


class Encoder:
    """State of one encoding: remaining limits, and the containers being encoded."""

    def __init__(
        self,
        max_bytes: int,
        max_depth: int,
        max_items: int,
        attachments: Attachments | None = None,
        remedy: str = "",
    ) -> None:
        self._attachments = attachments
        self._max_bytes = self._bytes_left = max_bytes
        self._max_items = self._items_left = max_items
        self._max_depth = max_depth
        self._remedy = remedy
        self._open: set[int] = set()
        #: Nanoseconds and bytes that the tables take when they are decoded; ``None`` without any.
        self.expected: tuple[int, int] | None = None

    def charge(self, size: int) -> None:
        """Count ``size`` bytes of output before they are created."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise Fault(f"the encoding is over {self._max_bytes} bytes{self._remedy}")

    def expect(self, work: int, memory: int) -> None:
        """Add what the decoder takes for a part of a table, in nanoseconds and bytes."""
        sums = self.expected or (0, 0)
        self.expected = sums[0] + work, sums[1] + memory

    def count(self, items: int) -> None:
        """Count items before they are read."""
        self._items_left -= items
        if self._items_left < 0:
            raise too_many_items(self._max_items)

    def value(self, value: Any) -> Any:
        """Return the JSON tree of one value."""
        cls = type(value)
        if cls is str:
            return self.text(value)
        if value is None or cls is bool:
            return value
        if cls is int:
            return value if -SMALL_INT <= value < SMALL_INT else self._big_int(value)
        if cls is float:
            return value if math.isfinite(value) else {"$": "float", "v": repr(value)}
        handler = ENCODERS.get(cls) or _encoder_of(cls)
        if handler is None:
            raise Fault(_refusal(value))
        identity = id(value)
        if identity in self._open:
            raise Fault(f"this {cls.__name__} contains itself; cycles cannot be encoded")
        if len(self._open) >= self._max_depth:
            raise Fault(f"nested deeper than {self._max_depth} levels")
        self._open.add(identity)
        try:
            return handler(self, value)
        except Fault:
            raise
        except Exception as error:
            name = f"{type(error).__name__}: {error}"
            raise Fault(f"reading this {cls.__name__} raised {name}") from error
        finally:
            self._open.discard(identity)

    def _big_int(self, value: int) -> Any:
        """Encode an int of more than 64 bits, in hexadecimal."""
        bits = value.bit_length()
        if bits > MAX_INT_BITS:
            raise Fault(f"an int of {bits} bits; at most {MAX_INT_BITS} can be encoded")
        self.charge(bits // 4)
        return {"$": "int", "v": hex(value)}

    def text(self, value: str) -> Any:
        """Encode a string; lone surrogates are not plain, since JSON would join adjacent ones."""
        if len(value) >= ATTACHED_FROM and self._attachments is not None:
            return {"$": "str", "v": self.raw(value.encode("utf-8", "surrogatepass"))}
        self.charge(len(value))
        if value.isascii() or well_formed(value):
            return value
        return {"$": "str", "v": to_base64(value.encode("utf-8", "surrogatepass"))}

    def raw(self, data: Any) -> str | int:
        """Encode contiguous bytes: the number of an attachment, or base64 text."""
        view = raw_view(data)
        if self._attachments is None or len(view) < ATTACHED_FROM:
            self.charge(len(view) * 4 // 3)
            return to_base64(view)
        self.charge(len(view))
        return self._attachments.add(view)

    def items(self, values: Iterable[Any], count: int) -> list[Any]:
        """Encode the items of a sequence."""
        self.count(count)
        out: list[Any] = []
        add, value = out.append, self.value
        try:
            for item in values:
                add(value(item))
        except Fault as fault:
            raise fault.under(f"[{len(out)}]")  # noqa: B904 - the same fault, with its path
        return out

    def fields(self, values: dict[str, Any]) -> dict[str, Any]:
        """Encode named fields."""
        out: dict[str, Any] = {}
        for name, item in values.items():
            try:
                out[name] = self.value(item)
            except Fault as fault:
                raise fault.under(f".{name}")  # noqa: B904 - the same fault, with its path
        return out


def well_formed(text: str) -> bool:
    """Tell whether a string has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoder_of(cls: type) -> Encode | None:
    for find in ENCODER_FINDERS:
        encoder = find(cls)
        if encoder is not None:
            return encoder
    return next((encode_it for base, encode_it in ENCODERS.items() if issubclass(cls, base)), None)


def _refusal(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__} cannot be encoded; send an instance or its name"
    cls = type(value)
    text = f"a value of type {cls.__module__}.{cls.__qualname__} cannot be encoded; "
    conversion = next((name for name in _CONVERSIONS if _has_method(cls, name)), None)
    if conversion is not None:
        return f"{text}send what its .{conversion}() returns"
    if _has_method(cls, "__next__"):
        return f"{text}send list() of it"
    if callable(value):
        return f"{text}send what it returns, or give it to the agent as a tool"
    return f"{text}send plain data instead (numbers, text, lists, dicts, arrays, tables, images)"


def _has_method(cls: type, name: str) -> bool:
    """Return whether a class has a method that may be called without arguments."""
    method = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if not callable(method):
        return False
    import inspect  # only for a message

    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return False
    except ValueError:  # a method in C does not say what it takes
        return True
    return True

"""Texts of values on the host, for values that a program has chosen.

The text of a value can be far larger than the value, and take far longer to make: an index of
12,000 levels, an array of 22 dimensions, a list that contains itself many times over. So the cost
of a text is counted before it is made.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any

from ..output import DEFAULT_PRINT_LENGTH, truncate
from .texts import (
    class_name,
    encodable,
    exact_text,
    exception_field,
    is_static,
    plain_text,
    without_text,
)

__all__ = ["brief_text", "has_moderate_text", "limited_text", "short_text"]

# Work that a text may take, in characters of simple values; a second of processor time at most.
_MOST_WORK = 2_000_000
# Work of one cell of an array or a table, beyond its bytes.
_CELL = 40
# Rows and columns of a table that are counted where pandas' options set no limit.
_MOST_CELLS = _MOST_WORK // _CELL
# Nesting that a text may have: repr() recurses.
_DEEPEST = 200
# Items and levels of a container in a short form, and characters of one text in it.
_SHORT_ITEMS = 10
_SHORT_LEVELS = 3
_SHORT_CHARACTERS = 200
_CONTAINERS = (list, tuple, set, frozenset, deque)
# Attributes of classes whose text is made of their fields: dataclasses and the codec's records,
# attrs, models of pydantic.
_FIELD_LISTS = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__")
_BRACES = ("{", "}")
_BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("(", ")"),
    set: _BRACES,
    frozenset: _BRACES,
}


class _Costly(Exception):
    """Signal that a text takes more than its work."""


def limited_text(value: Any, most: int = DEFAULT_PRINT_LENGTH) -> str:
    """Return ``str(value)`` within limits of time and size.

    The function does not raise. A text that would take too long to make is a short form. The middle
    of a long one is left out.

    Args:
        value: any value. Methods of a program's own class run, if it has any.
        most: limit of the text, in characters.

    Example:
        >>> from smolagents_fork.text.short_texts import limited_text
        >>> limited_text([1, 2])
        '[1, 2]'
        >>> limited_text([list(range(1_000_000))])
        '<list, too large for its text: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 999990 more]]>'
    """
    text = plain_text(value) if type(value) is not bytes else None
    if text is None:
        try:
            text = exact_text(str(value)) if has_moderate_text(value) else short_text(value)
        except Exception as error:
            text = without_text(value, error)
    return encodable(truncate(text, most))


def has_moderate_text(value: Any) -> bool:
    """Return whether ``str(value)`` takes a moderate time and moderate memory."""
    try:
        _count(value)
    except _Costly:
        return False
    except Exception:  # an array or a table that its own library cannot read
        return False
    return True


def short_text(value: Any) -> str:
    """Return a short form of a value: its class, and its first items or its shape."""
    return f"<{class_name(value)}, too large for its text: {brief_text(value)}>"


def brief_text(value: Any, levels: int = _SHORT_LEVELS) -> str:
    """Return the first items of a value, its shape, or its class.

    Args:
        value: any value. Methods of a program's own class do not run.
        levels: containers in one another that are shown.

    Example:
        >>> brief_text((1, [2.5, "text"]))
        "(1, [2.5, 'text'])"
    """
    cls = type(value)
    text: str | None
    if cls is str or cls is bytes:
        text = repr(value[:_SHORT_CHARACTERS])
        return text + f"... {len(value):,} in all" * (len(value) > _SHORT_CHARACTERS)
    text = plain_text(value, "repr")
    if text is not None:
        return truncate(text, _SHORT_CHARACTERS)
    is_dict = issubclass(cls, dict)
    if levels and (is_dict or issubclass(cls, _CONTAINERS)):
        size = dict.__len__(value) if is_dict else _base(cls).__len__(value)
        if is_dict:
            parts = [
                f"{brief_text(key, levels - 1)}: {brief_text(item, levels - 1)}"
                for key, item in islice(dict.items(value), _SHORT_ITEMS)
            ]
        else:
            items = islice(_base(cls).__iter__(value), _SHORT_ITEMS)
            parts = [brief_text(item, levels - 1) for item in items]
        if size > _SHORT_ITEMS:
            parts.append(f"... {size - _SHORT_ITEMS} more")
        left, right = _BRACKETS.get(cls, _BRACES if is_dict else ("[", "]"))
        return f"{left}{', '.join(parts)}{right}"
    library = _library_of(cls)
    if library is not None:
        indexes = (getattr(value, name, None) for name in ("index", "columns"))
        deepest = max(getattr(index, "nlevels", 1) for index in (value, *indexes))
        text = f"{cls.__name__} of shape {value.shape}"
        return text + f", with an index of {deepest} levels" * (deepest > 1)
    return f"<{class_name(value)}>"


def _base(cls: type) -> Any:
    """Return the builtin container that a class is or extends."""
    return next(base for base in _CONTAINERS if issubclass(cls, base))


def _library_of(cls: type) -> str | None:
    """Return ``"numpy"`` or ``"pandas"`` for their arrays and tables, else ``None``."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    # A module that is being imported, in another thread, has not all of its names.
    if numpy is not None and issubclass(cls, getattr(numpy, "ndarray", ())):
        return "numpy"
    names = ("DataFrame", "Series", "Index")
    if pandas is not None and issubclass(
        cls, tuple(getattr(pandas, name) for name in names if hasattr(pandas, name))
    ):
        return "pandas"
    return None


def _count(value: Any) -> None:
    """Count the work of a text, without recursion.

    Raises:
        _Costly: the work is more than a text may take.
    """
    work = 0
    pending: list[tuple[Any, Iterator[Any]]] = [(None, iter((value,)))]
    opened: set[int] = set()
    while pending:
        item = next(pending[-1][1], pending)
        if item is pending:
            opened.discard(id(pending.pop()[0]))
            continue
        if id(item) in opened:
            continue  # repr() shows three dots for a value inside itself
        cost, inner = _cost(item)
        work += cost
        if work > _MOST_WORK or len(pending) > _DEEPEST:
            raise _Costly
        if inner is not None:
            pending.append((item, iter(inner)))
            opened.add(id(item))


def _cost(value: Any) -> tuple[int, Iterable[Any] | None]:
    """Return the work of a value's own text, and the items that the text contains."""
    cls = type(value)
    if cls is int:
        digits = value.bit_length() // 3
        return 5 + digits + digits * digits // 10_000, None
    if issubclass(cls, str):
        return 2 + str.__len__(value), None
    if issubclass(cls, (bytes, bytearray)):
        return 4 * len(value), None
    if issubclass(cls, dict):
        return 10, chain.from_iterable(dict.items(value))
    if issubclass(cls, _CONTAINERS):
        return 10, _base(cls).__iter__(value)
    library = _library_of(cls)
    if library == "numpy":
        return _array_cost(value)
    if library == "pandas":
        return _table_cost(value)
    if issubclass(cls, BaseException):
        return 100, iter(exception_field(value, "args"))
    fields = _shown_fields(value)
    if type(fields) is dict:
        return 100, iter((fields,))
    return (sys.getsizeof(value) if is_static(cls) else 100), None


def _shown_fields(value: Any) -> Any:
    """Return the fields that a text consists of; other classes say in their own way what they are.

    A class that refers to a whole document or data set, such as an element of a page, a figure or a
    response of a server, usually has a short text.
    """
    bases = type.mro(type(value)) if not isinstance(value, type) else ()
    # Of the classes: an object may answer to any name, at a cost.
    has_fields = SimpleNamespace in bases or any(
        name in vars(base) for base in bases for name in _FIELD_LISTS
    )
    return getattr(value, "__dict__", None) if has_fields else None


def _array_cost(array: Any) -> tuple[int, Iterable[Any] | None]:
    numpy = sys.modules["numpy"]
    options = numpy.get_printoptions()
    shape = array.shape
    if array.size > options["threshold"]:
        edge = 2 * options["edgeitems"]
        shape = tuple(min(side, edge + 1) for side in shape)
    cells = math.prod(shape)
    cost = cells * (_CELL + array.dtype.itemsize + _CELL * len(array.dtype.names or ()))
    if not array.dtype.hasobject or cost > _MOST_WORK:
        return cost, None
    if not shape:
        return cost, (array.item(),)
    # The cells that a text shows: the first and last of each side.
    sides = [_ends(*sizes) for sizes in zip(array.shape, shape, strict=True)]
    return cost, numpy.asarray(array)[numpy.ix_(*map(list, sides))].ravel()


def _table_cost(table: Any) -> tuple[int, Iterable[Any] | None]:
    pandas = sys.modules["pandas"]
    rows, columns = table.shape[0], math.prod(table.shape[1:])
    index = getattr(table, "index", table)
    names = getattr(table, "columns", None)
    shown_rows = min(rows, pandas.get_option("display.max_rows") or _MOST_CELLS)
    shown_columns = min(columns, pandas.get_option("display.max_columns") or 100)
    index_levels, name_levels = index.nlevels, 1 if names is None else names.nlevels
    cells = shown_rows * (shown_columns + index_levels) + name_levels * shown_columns
    cost = _CELL * cells + (index_levels**2 + name_levels**2) // 10
    if cost > _MOST_WORK or table is index:
        return cost, None
    return cost, _object_cells(table, shown_rows, shown_columns)


def _object_cells(table: Any, rows: int, columns: int) -> Iterable[Any]:
    """Yield what the shown cells of a table contain, where that may be any object."""
    one_column = table.ndim == 1
    width = 1 if one_column else table.shape[1]
    for number in _ends(width, columns):
        column = (table if one_column else table.iloc[:, number]).array
        if column.dtype.kind == "O":
            for row in _ends(len(column), rows):
                yield column[row]


def _ends(size: int, shown: int) -> Iterable[int]:
    """Return the positions of the first and the last of so many that a text shows."""
    half = shown // 2 + 1
    return range(size) if size <= 2 * half else chain(range(half), range(size - half, size))

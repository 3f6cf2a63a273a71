"""Check of the attributes that ``str.format`` and ``string.Formatter`` read by name."""

from __future__ import annotations

import contextlib
import re
import string
from collections.abc import Iterable, Iterator
from typing import Any

from ....errors import AttributeRefusedError
from .. import policy

__all__ = ["Formatter", "check_format"]

#: An attribute in a field, or what looks like one in a key: up to the next attribute or key.
_ATTRIBUTE = re.compile(r"\.([^.\[]+)")
_ALLOWED = policy.ALLOWED_DUNDERS | {"__class__"}


def check_format(template: str) -> None:
    """Refuse a format that reads what leads to the host. A private name is text in it.

    Raises:
        AttributeRefusedError: a field names such an attribute.
    """
    _check(_names(template))


def _names(template: str) -> Iterator[str]:
    with contextlib.suppress(ValueError):  # the method says what is wrong, in Python's words
        for _text, field, specification, _conversion in string.Formatter().parse(template):
            yield from _ATTRIBUTE.findall(field or "")
            yield from _names(specification or "")


def _check(names: Iterable[str]) -> None:
    for name in names:
        if (policy.is_dunder(name) and name not in _ALLOWED) or name in policy.GUARDED_ATTRIBUTES:
            raise AttributeRefusedError(f"Forbidden access to dunder attribute: {name} in a format")


class Formatter(string.Formatter):
    """The formatter of programs."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        """Read a field, unless it leads to the host."""
        _check(_ATTRIBUTE.findall(field_name))
        return super().get_field(field_name, args, kwargs)


Formatter.__module__ = "string"

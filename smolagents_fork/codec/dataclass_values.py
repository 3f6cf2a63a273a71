"""Dataclass and enum values for readers that do not have their class.

A dataclass, an object of attrs or pydantic, a named tuple or an enum member names its class by
module and qualified name. The decoder never imports by a name from the data. It uses a class that
its caller registered, or one of the two placeholder classes of this module. A placeholder is
encoded again as the value it represents, so a value that only passes through keeps its class at the
other end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Record:
    """Placeholder for an instance of a class with fields that is not registered here.

    Fields are read as attributes (``record.x``) or as items (``record["x"]``).
    """

    __slots__ = ("_class_name", "_fields", "_kind", "_module")

    def __init__(self, kind: str, module: str, class_name: str, fields: dict[str, Any]) -> None:
        self._kind = kind
        self._module = module
        self._class_name = class_name
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        # Only called when ordinary lookup fails. Special names are never fields of the data: the
        # decoder refuses them, and copy and pickle probe for them.
        if name.startswith("__") or name in Record.__slots__:
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            message = f"{self._class_name!r} record has no field {name!r}"
            raise AttributeError(message) from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{self._class_name}({inside})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return record_parts(self) == record_parts(other)

    def __hash__(self) -> int:
        return hash((self._module, self._class_name, tuple(self._fields.values())))


class Member:
    """Placeholder for a member of an enum that is not registered; has ``name`` and ``value``."""

    __slots__ = ("_class_name", "_module", "name", "value")

    def __init__(self, module: str, class_name: str, name: str | None, value: Any) -> None:
        self._module = module
        self._class_name = class_name
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return f"<{self._class_name}.{self.name}: {self.value!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Member):
            return NotImplemented
        return member_parts(self) == member_parts(other)

    def __hash__(self) -> int:
        return hash((self._module, self._class_name, self.name))


def record_parts(record: Record) -> tuple[str, str, str, dict[str, Any]]:
    """Return kind, module, class name and fields.

    The kind is ``attrs``, ``dataclass``, ``model`` (of pydantic) or ``namedtuple``.
    """
    return record._kind, record._module, record._class_name, record._fields


def member_parts(member: Member) -> tuple[str, str, str | None, Any]:
    """Return module, class name, member name and value.

    The member name is ``None`` for an unnamed combination of flags.
    """
    return member._module, member._class_name, member.name, member.value

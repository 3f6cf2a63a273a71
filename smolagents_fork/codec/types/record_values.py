"""Objects with fields and enum members, also for readers that do not have their class.

A dataclass, an object of attrs or pydantic, a named tuple or an enum member names its class by
module and qualified name. The decoder never imports by a name from the data. It uses a class that
its caller registered, or one of the two placeholder classes of this module. A placeholder is
encoded again as the value it represents, so a value that only passes through keeps its class at the
other end.
"""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from smolagents_fork.codec.coding import Decode, Decoding, Encode, Encoding, Row, Tree, row
from smolagents_fork.codec.limits import Fault

_NAME = re.compile(r"[^\W\d]\w{0,199}")


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


# -- to JSON --


def _dataclass(encoder: Encoding, value: Any) -> Tree:
    """Encode a dataclass instance: class by name, stored fields."""
    names = [
        name for name, field in type(value).__dataclass_fields__.items() if _is_stored_field(field)
    ]
    return _named(encoder, "dataclass", value, {name: getattr(value, name) for name in names})


def _is_stored_field(field: Any) -> bool:
    # dataclasses.fields() does the same test, but importing the module is expensive.
    return repr(getattr(field, "_field_type", None)) == "_FIELD"


def _named_tuple(encoder: Encoding, value: Any) -> Tree:
    """Encode a named tuple: class by name, fields in order."""
    return _named(encoder, "namedtuple", value, dict(zip(value._fields, value, strict=True)))


def _attrs(encoder: Encoding, value: Any) -> Tree:
    """Encode an instance of a class of attrs: class by name, fields."""
    names = [field.name for field in type(value).__attrs_attrs__]
    return _named(encoder, "attrs", value, {name: getattr(value, name) for name in names})


def _model(encoder: Encoding, value: Any) -> Tree:
    """Encode a model of pydantic: class by name, fields that are set, extra ones too."""
    stored = vars(value)
    fields = {name: stored[name] for name in type(value).model_fields if name in stored}
    return _named(encoder, "model", value, {**fields, **(value.model_extra or {})})


def _named(encoder: Encoding, tag: str, value: Any, fields: dict[str, Any]) -> Tree:
    kind = type(value)
    return _record_tree(encoder, tag, kind.__module__, kind.__qualname__, fields)


def _record_tree(
    encoder: Encoding, tag: str, module: str, class_name: str, fields: dict[str, Any]
) -> Tree:
    encoder.charge(len(module) + len(class_name) + sum(map(len, fields)))
    return {"$": tag, "m": module, "c": class_name, "v": encoder.fields(fields)}


def _record(encoder: Encoding, value: Record) -> Tree:
    return _record_tree(encoder, *record_parts(value))


def _enum(encoder: Encoding, value: enum.Enum) -> Tree:
    """Encode an enum member: class by name, its name and value."""
    kind = type(value)
    return _member_tree(encoder, kind.__module__, kind.__qualname__, value.name, value.value)


def _member(encoder: Encoding, value: Member) -> Tree:
    return _member_tree(encoder, *member_parts(value))


def _member_tree(
    encoder: Encoding, module: str, class_name: str, name: str | None, value: Any
) -> Tree:
    tree = encoder.fields({"value": value})["value"]
    return {"$": "enum", "m": module, "c": class_name, "n": name, "v": tree}


# -- and back --


def _fields(decoder: Decoding, tree: Tree) -> dict[str, Any]:
    if type(tree) is not dict:
        raise Fault("fields expected")
    for name in tree:
        if not _NAME.fullmatch(name) or (name.startswith("__") and name.endswith("__")):
            raise Fault(f"{name[:40]!r} is not the name of a field")
    out: dict[str, Any] = {}
    for name, item in tree.items():
        try:
            out[name] = decoder.value(item)
        except Fault as fault:
            raise fault.under(f".{name}")  # noqa: B904 - the same fault, with its path
    return out


def _made_of_fields(tag: str, make: Callable[[Any, dict[str, Any]], Any]) -> Decode:
    """Return the maker of an object that names its class and its fields.

    Args:
        tag: Tag of the encoding.
        make: makes the object of a registered class and fields; of others it raises a fault.
    """

    def made(decoder: Decoding, tree: dict[str, Tree]) -> Any:
        module, name, kind = decoder.registered(tree)
        fields = _fields(decoder, tree["v"])
        return Record(tag, module, name, fields) if kind is None else make(kind, fields)

    return made


def _check_fields(kind: Any, are_known: bool) -> None:
    if not are_known:
        raise Fault(f"the fields of {kind.__qualname__} differ from those of the registered class")


def _dataclass_of(kind: Any, fields: dict[str, Any]) -> Any:
    known: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    _check_fields(kind, bool(known) and fields.keys() <= known.keys())
    value = kind(**{key: item for key, item in fields.items() if known[key].init})
    for key, item in fields.items():
        if not known[key].init:
            object.__setattr__(value, key, item)  # also works for frozen dataclasses
    return value


def _attrs_of(kind: Any, fields: dict[str, Any]) -> Any:
    known = {field.name for field in getattr(kind, "__attrs_attrs__", ())}
    _check_fields(kind, bool(known) and fields.keys() <= known)
    value = object.__new__(kind)
    for key, item in fields.items():
        object.__setattr__(value, key, item)  # also works for frozen classes
    return value


def _model_of(kind: Any, fields: dict[str, Any]) -> Any:
    known: dict[str, Any] = getattr(kind, "model_fields", {})
    takes_more = getattr(kind, "model_config", {}).get("extra") == "allow"
    public = all(key in known or (takes_more and key[:1] != "_") for key in fields)
    _check_fields(kind, bool(known) and public)
    return kind.model_construct(**fields)


def _named_tuple_of(kind: Any, fields: dict[str, Any]) -> Any:
    _check_fields(kind, issubclass(kind, tuple) and tuple(fields) == getattr(kind, "_fields", None))
    return kind(*fields.values())


def _member_of(decoder: Decoding, tree: dict[str, Tree]) -> Any:
    module, name, kind = decoder.registered(tree)
    label, value = tree["n"], decoder.value(tree["v"])
    if label is not None and (type(label) is not str or len(label) > 1000):
        raise Fault("the name of an enum member is text")
    if kind is None:
        return Member(module, name, label, value)
    members: Any = getattr(kind, "__members__", {})
    if label in members:
        return members[label]
    # A combination of flags does not have a name, or has names joined by |.
    return kind(value)


RECORD_ENCODERS: dict[type, Encode] = {Record: _record, Member: _member}
RECORD_TAGS: dict[str, Row] = {
    "attrs": row(_made_of_fields("attrs", _attrs_of), "mcv", work=3_000),
    "dataclass": row(_made_of_fields("dataclass", _dataclass_of), "mcv", work=3_000),
    "model": row(_made_of_fields("model", _model_of), "mcv", work=10_000),
    "namedtuple": row(_made_of_fields("namedtuple", _named_tuple_of), "mcv", work=3_000),
    "enum": row(_member_of, "mcnv", work=3_000),
}


def record_encoder(kind: type) -> Encode | None:
    """Return the encoder of a class with fields or members; ``None`` for other classes."""
    if issubclass(kind, enum.Enum):
        return _enum
    if "__dataclass_fields__" in kind.__dict__ or hasattr(kind, "__dataclass_fields__"):
        return _dataclass
    if issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return _named_tuple
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs
    # A model can only exist if pydantic is loaded already.
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return _model if model is not None and issubclass(kind, model) else None

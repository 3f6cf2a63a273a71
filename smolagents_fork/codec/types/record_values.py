"""Objects with fields and enum members, also for readers that do not have their class.

A dataclass, an object of attrs or pydantic, a named tuple or an enum member names its class by
module and qualified name. The decoder never imports by a name from the data. It calls a class that
its caller registered, or makes one of the placeholders of this module. A placeholder is encoded
again as the value that it represents.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, row
from smolagents_fork.codec.encoder import ENCODER_FINDERS, ENCODERS, Encode, Encoder
from smolagents_fork.codec.limits import Fault

_NAME = re.compile(r"[^\W\d]\w{0,199}")


@functools.lru_cache(100)
def _dataclass_with(*names: str) -> Any:
    """Return a dataclass of fields of these names."""
    import dataclasses  # which is expensive

    return dataclasses.make_dataclass("record", names, init=False, repr=False, eq=False)


class Record:
    """Placeholder for an instance of a class with fields that is not registered here.

    Fields are read as attributes (``record.x``) or as items (``record["x"]``), and assigned as
    attributes. ``dict(record)`` and ``vars(record)`` have them all, and ``dataclasses`` reads them.
    What the object had beside its fields, such as computed fields of pydantic, are attributes only.
    """

    __slots__ = ("__dict__", "_class_name", "_derived", "_module")
    __dataclass_fields__ = property(lambda self: _dataclass_with(*self).__dataclass_fields__)
    __dataclass_params__ = property(lambda self: _dataclass_with(*self).__dataclass_params__)
    _module: str
    _class_name: str
    _derived: dict[str, Any] | None

    def __init__(self, module: str, class_name: str, fields: dict[str, Any]) -> None:
        self._module = module
        self._class_name = class_name
        self._derived = None
        vars(self).update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in Record.__slots__ and name not in vars(self):
            raise _no_field(self, name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Only called when ordinary lookup fails. Special names are never fields of the data: the
        # decoder refuses them, and copy and pickle probe for them.
        if name.startswith("__") or name in Record.__slots__:
            raise AttributeError(name)
        if self._derived and name in self._derived:
            return self._derived[name]
        if name == "keys":  # by which dict() knows a mapping; a field of that name comes first
            return vars(self).keys
        raise _no_field(self, name)

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{self._class_name}({inside})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return record_parts(self) == record_parts(other)

    def __hash__(self) -> int:
        return hash((self._module, self._class_name, tuple(vars(self).values())))


def _no_field(record: Record, name: str) -> AttributeError:
    # Not a method, whose name a field may have. It lists a few fields: hasattr() asks often, and
    # there may be 100,000.
    fields = ", ".join(itertools.islice(record, 50))[:500]
    return AttributeError(
        f"{record._class_name!r} record has no field {name!r}; "
        f"dict(record) has its fields: {fields}"
    )


class TupleRecord(tuple[Any, ...]):
    """Placeholder for a named tuple of a class that is not registered: a tuple with names."""

    _module: str
    _class_name: str
    _fields: tuple[str, ...]

    def __new__(cls, module: str, class_name: str, fields: dict[str, Any]) -> TupleRecord:
        self = super().__new__(cls, fields.values())
        vars(self).update(fields)  # they come before methods of tuples, such as count
        self._module = module
        self._class_name = class_name
        self._fields = tuple(fields)
        return self

    def __getnewargs__(self) -> tuple[str, str, dict[str, Any]]:
        return tuple_parts(self)

    def __repr__(self) -> str:
        return Record.__repr__(Record(*tuple_parts(self)))

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))


class Member:
    """Placeholder for a member of an enum that is not registered; has ``name`` and ``value``."""

    def __init__(self, module: str, class_name: str, name: str | None, value: Any) -> None:
        self._module = module
        self._class_name = class_name
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return f"<{self._class_name}.{self.name}: {self.value!r}>"

    def __str__(self) -> str:
        return f"{self._class_name}.{self.name}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Member):
            return NotImplemented
        return member_parts(self) == member_parts(other)

    def __hash__(self) -> int:
        return hash((self._module, self._class_name, self.name))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return member_parts(self)


class TextMember(Member, str):
    """Placeholder for a member of an enum of texts, such as a ``StrEnum``, which is its text."""

    __str__, __eq__, __hash__ = str.__str__, str.__eq__, str.__hash__

    def __new__(cls, _module: str, _class_name: str, _name: str | None, value: str) -> TextMember:
        return str.__new__(cls, value)


class NumberMember(Member, int):
    """Placeholder for a member of an enum of whole numbers, such as an ``IntEnum``."""

    __str__, __eq__, __hash__ = int.__repr__, int.__eq__, int.__hash__

    def __new__(cls, _module: str, _class_name: str, _name: str | None, value: int) -> NumberMember:
        return int.__new__(cls, value)


# Types that a member is an instance of, if its value is -> its placeholder.
_MIXED_IN: dict[type, type[Member]] = {str: TextMember, int: NumberMember}


def record_parts(record: Record) -> tuple[str, str, dict[str, Any]]:
    """Return module, class name and fields."""
    return record._module, record._class_name, vars(record)


def tuple_parts(record: TupleRecord) -> tuple[str, str, dict[str, Any]]:
    """Return module, class name and fields."""
    return record._module, record._class_name, record._asdict()


def member_parts(member: Member) -> tuple[str, str, str | None, Any]:
    """Return module, class name, member name and value.

    The member name is ``None`` for an unnamed combination of flags.
    """
    return member._module, member._class_name, member.name, member.value


# -- to JSON --


def _dataclass(encoder: Encoder, value: Any) -> Any:
    """Encode a dataclass instance: class by name, stored fields."""
    declared = type(value).__dataclass_fields__
    names = [name for name in declared if _is_stored_field(declared[name])]
    return _encode_fields(encoder, value, {name: getattr(value, name) for name in names})


def _is_stored_field(field: Any) -> bool:
    # dataclasses.fields() does the same test, but importing the module is expensive.
    return repr(getattr(field, "_field_type", None)) == "_FIELD"


def _encode_named_tuple(encoder: Encoder, value: Any) -> Any:
    """Encode a named tuple: class by name, fields in order, and what is stored beside them."""
    fields = dict(zip(value._fields, value, strict=True))
    tree = {**_encode_fields(encoder, value, fields), "$": "namedtuple"}
    return _with_derived(encoder, tree, value, getattr(value, "__dict__", ()))


def _tuple_record(encoder: Encoder, value: TupleRecord) -> Any:
    tree = {**_record_tree(encoder, *tuple_parts(value)), "$": "namedtuple"}
    return _with_derived(encoder, tree, value, vars(value))


def _attrs(encoder: Encoder, value: Any) -> Any:
    """Encode an instance of a class of attrs: class by name, fields."""
    names = [field.name for field in type(value).__attrs_attrs__]
    return _encode_fields(encoder, value, {name: getattr(value, name) for name in names})


def _model(encoder: Encoder, value: Any) -> Any:
    """Encode a model of pydantic: class by name, fields that are set, extra and computed ones."""
    stored = vars(value)
    fields = {name: stored[name] for name in type(value).model_fields if name in stored}
    tree = _encode_fields(encoder, value, {**fields, **(value.model_extra or {})})
    computed: Any = type(value).model_computed_fields
    if isinstance(computed, property):  # of pydantic before 2.11
        computed = value.model_computed_fields
    return _with_derived(encoder, tree, value, computed)


def _with_derived(encoder: Encoder, tree: Any, value: Any, names: Iterable[str]) -> Any:
    """Add public data that an object has beside its fields, as far as it can be encoded.

    A class that the reader has registered gets the fields alone.
    """
    derived: dict[str, Any] = {}
    for name in list(names):
        if name[:1] != "_" and name not in tree["v"]:
            with contextlib.suppress(Exception):  # without this, the object crosses as well
                derived.update(encoder.fields({name: getattr(value, name)}))
    return {"$": "derived", "v": tree, "d": derived} if derived else tree


def _encode_fields(encoder: Encoder, value: Any, fields: dict[str, Any]) -> Any:
    cls = type(value)
    return _record_tree(encoder, cls.__module__, cls.__qualname__, fields)


def _record_tree(encoder: Encoder, module: str, class_name: str, fields: dict[str, Any]) -> Any:
    encoder.charge(len(module) + len(class_name) + sum(map(len, fields)))
    return {"$": "record", "m": module, "c": class_name, "v": encoder.fields(fields)}


def _record(encoder: Encoder, value: Record) -> Any:
    tree = _record_tree(encoder, *record_parts(value))
    return _with_derived(encoder, tree, value, value._derived or ())


def _enum(encoder: Encoder, value: enum.Enum) -> Any:
    """Encode an enum member: class by name, its name and value, whether it is its value."""
    cls = type(value)
    is_mixed = type(value.value) in _MIXED_IN and issubclass(cls, type(value.value))
    parts = cls.__module__, cls.__qualname__, value.name, value.value
    return _member_tree(encoder, *parts, is_mixed=is_mixed)


def _member(encoder: Encoder, value: Member) -> Any:
    return _member_tree(encoder, *member_parts(value), is_mixed=type(value) is not Member)


def _member_tree(
    encoder: Encoder, module: str, class_name: str, name: str | None, value: Any, *, is_mixed: bool
) -> Any:
    tree = encoder.fields({"value": value})["value"]
    return {"$": "enum", "m": module, "c": class_name, "n": name, "v": tree, "t": is_mixed}


# -- and back --


def _fields(decoder: Decoder, tree: Any) -> dict[str, Any]:
    if type(tree) is not dict:
        raise Fault("expected fields")
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


def _record_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode the fields of an object: a call of its class if that is registered, or a record."""
    module, name, cls = decoder.registered(tree)
    fields = _fields(decoder, tree["v"])
    if tree["$"] == "namedtuple":
        if any(field.startswith("_") and not field[1:].isdecimal() for field in fields):
            raise Fault("fields of a named tuple have public names, or _ and a number")
        return TupleRecord(module, name, fields) if cls is None else cls(**fields)
    if cls is None:
        return Record(module, name, fields)
    declared: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    late = {key for key in fields if key in declared and not declared[key].init}
    value = cls(**{key: item for key, item in fields.items() if key not in late})
    for key in late:
        object.__setattr__(value, key, fields[key])  # also works for frozen dataclasses
    return value


def _derived_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode what an object had beside its fields, which only placeholders take."""
    value, derived = decoder.value(tree["v"]), _fields(decoder, tree["d"])
    if type(value) is Record:
        value._derived = derived
    elif type(value) is TupleRecord:
        if any(name.startswith("_") or name in value._fields for name in derived):
            raise Fault("a name beside the fields is public, and not a field's")
        vars(value).update(derived)
    return value


def _member_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    module, name, cls = decoder.registered(tree)
    label, value = tree["n"], decoder.value(tree["v"])
    if label is not None and (type(label) is not str or len(label) > 1000):
        raise Fault("the name of an enum member is text")
    if cls is None:
        placeholder = _MIXED_IN.get(type(value), Member) if tree["t"] is True else Member
        return placeholder(module, name, label, value)
    members: Any = getattr(cls, "__members__", {})
    if label in members:
        return members[label]
    # A combination of flags does not have a name, or has names joined by |.
    return cls(value)


ENCODERS.update({Record: _record, TupleRecord: _tuple_record})
ENCODERS.update(dict.fromkeys((Member, *_MIXED_IN.values()), _member))
TAGS.update(
    {
        "record": row(_record_of, "mcv", work=3_000),
        "namedtuple": row(_record_of, "mcv", work=3_000),
        "derived": row(_derived_of, "vd"),
        "enum": row(_member_of, "mcnvt", work=3_000),
    }
)


def record_encoder(kind: type) -> Encode | None:
    """Return the encoder of a class with fields or members; ``None`` for other classes."""
    if issubclass(kind, enum.Enum):
        return _enum
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass
    if issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return _encode_named_tuple
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs
    # A model can only exist if pydantic is loaded already.
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return _model if model is not None and issubclass(kind, model) else None


# First: an object with fields may be based on a type of a library.
ENCODER_FINDERS.insert(0, record_encoder)

"""Reservations, answers and errors as plain data, sent between host, placer and nodes.

What a node sends is not trusted: names and types are checked before anything uses them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import errors
from ..errors import ConfigurationError, ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ..results import ExecutorStats, FileInfo

__all__ = [
    "NodeStats",
    "Reservation",
    "SlotRequest",
    "SupervisorPlace",
    "as_data",
    "failure_data",
    "failure_of",
    "file_infos_of",
    "from_data",
    "stats_of",
]

_PLAIN: tuple[Any, ...] = (str, bytes, bool, int, float, type(None))
_MOST_FILES = 10_000
# Range of numbers; NaN is not in it.
_LEAST, _MOST = -(1 << 31), 1 << 62
# Silence after which a supervisor is given up: seconds, or a part of its lease if that is more.
_SILENT_SECONDS, _SILENT_PART = 9.0, 0.6
_Data = TypeVar("_Data")


@dataclass(frozen=True)
class Reservation:
    """Resources that Ray sets aside on a node for the sandboxes of one supervisor.

    Attributes:
        kind: of its sandboxes, such as ``process``.
        slots: sandboxes at once.
        cpus: cores for each.
        memory: bytes for each; 0: none is set aside.
        lease_seconds: time without a heartbeat after which it closes its sandboxes and ends.
        node: id of the node that it has to be on; empty for any.
    """

    kind: str
    slots: int
    cpus: float
    memory: int
    lease_seconds: float
    node: str = ""

    @property
    def whole_cpus(self) -> float:
        """Cores for all slots."""
        return self.slots * self.cpus

    @property
    def whole_memory(self) -> int:
        """Bytes for all slots."""
        return self.slots * self.memory

    @property
    def silent_seconds(self) -> float:
        """Silence after which a supervisor is given up, in seconds."""
        return max(_SILENT_SECONDS, _SILENT_PART * self.lease_seconds)

    def __str__(self) -> str:
        memory = f" and {self.whole_memory / (1 << 30):.1f} GiB" if self.memory else ""
        return f"{self.whole_cpus:g} CPUs{memory} (slots_per_node={self.slots})"


@dataclass(frozen=True)
class SupervisorPlace:
    """Address of a supervisor.

    Attributes:
        supervisor: its id.
        node: id of its node.
        address: of the node.
        port: that it listens on.
        key: shown by those who may connect.
        tls: whether its connections have TLS.
    """

    supervisor: str
    node: str
    address: str
    port: int
    key: bytes = dataclasses.field(repr=False)
    tls: bool

    def __str__(self) -> str:
        # The begin of its id tells a node from others at the same address.
        return f"{self.address} ({self.node[:8]})"


@dataclass(frozen=True)
class SlotRequest:
    """Request of the host for a supervisor that can start a sandbox.

    Attributes:
        sandbox: its id, which was never used before.
        reservation: of the supervisor; supervisors with an equal one are shared.
        seconds: to wait for a slot.
        without: ids of nodes on which this start has failed.
        avoided: ids of nodes that are used where no other has a free slot.
    """

    sandbox: str
    reservation: Reservation
    seconds: float
    without: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeStats:
    """Figures of one supervisor.

    Attributes:
        node: id of its node.
        supervisor: its id.
        slots: sandboxes that it may have.
        in_use: sandboxes that it has, with those that start and end.
        engine_error: why its node's engine took no sandbox when it was last asked; else empty.
        heard_seconds_ago: time since its last heartbeat, in seconds.
    """

    node: str
    supervisor: str
    slots: int
    in_use: int
    engine_error: str
    heard_seconds_ago: float

    @property
    def ready(self) -> int:
        """Slots that can take a sandbox now."""
        return 0 if self.engine_error else max(0, self.slots - self.in_use)


def as_data(value: object) -> Any:
    """Return a dataclass, or what it is made of, as plain data.

    Args:
        value: options, a specification or an answer.

    Raises:
        ConfigurationError: it has an object that cannot be sent.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in dataclasses.fields(value)]
        return {name: as_data(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(name): as_data(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_data(one) for one in value]
    if not isinstance(value, _PLAIN):
        raise ConfigurationError(
            f"{value!r} cannot be sent to a node of the cluster: give text, numbers, lists and "
            "mappings"
        )
    return value


def from_data(cls: type[_Data], data: Any) -> _Data:
    """Rebuild a dataclass from the output of :func:`as_data`.

    Args:
        cls: Class whose fields are plain, tuples of such, or dataclasses again. Types that say
            less, such as ``Any`` and ``Mapping``, are not checked.
        data: not trusted.

    Raises:
        ProtocolError: other names or types, or a number out of range.
    """
    hints = typing.get_type_hints(cls)
    names = [one.name for one in dataclasses.fields(cls)]  # type: ignore[arg-type]  # a dataclass
    if type(data) is not dict or data.keys() != set(names):
        raise ProtocolError(f"what was sent is not a {cls.__name__}")
    fields = {}
    for name in names:
        try:
            fields[name] = _rebuilt(data[name], hints[name])
        except TypeError as error:
            raise ProtocolError(f"{cls.__name__}.{name} {error}") from None
    return cls(**fields)


def _rebuilt(value: Any, hint: Any) -> Any:
    """Return a value once it has the type of its field.

    Raises:
        TypeError: it has not.
    """
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_data(hint, value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if type(value) in arguments:
            return _rebuilt(value, type(value))
        return _rebuilt(value, next(one for one in arguments if one is not type(None)))
    if origin is tuple and type(value) is list:
        return tuple(_rebuilt(one, arguments[0]) for one in value)
    if hint not in _PLAIN and origin is not tuple:
        return value
    if type(value) is not hint and not (hint is float and type(value) is int):
        raise TypeError("has a value of the wrong type")
    if isinstance(value, (int, float)) and not _LEAST <= value <= _MOST:
        raise TypeError("is a number out of range")
    return value


def stats_of(data: Any) -> ExecutorStats:
    """Return the resource use that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    found = from_data(ExecutorStats, data)
    if any(value is not None and value < 0 for value in vars(found).values()):
        raise ProtocolError("a node sent negative resource use")
    return found


def file_infos_of(data: Any) -> list[FileInfo]:
    """Return the list of files that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    if type(data) is not list or len(data) > _MOST_FILES:
        raise ProtocolError("a node sent what is not a list of files, or one that is too long")
    return [from_data(FileInfo, one) for one in data]


def failure_data(error: ForkError) -> list[str]:
    """Return class, message and cause of an error."""
    cause = error.cause if isinstance(error, SandboxDiedError) else ""
    return [type(error).__name__, str(error), cause]


def failure_of(data: Any) -> ForkError:
    """Return the error that plain data describe.

    Raises:
        ProtocolError: they describe none.
    """
    if type(data) is not list or [type(one) for one in data] != [str, str, str]:
        raise ProtocolError("an error has a class, a message and a cause")
    name, message, cause = data
    # Compared with the classes there are; nothing is imported that the node could choose.
    found = getattr(errors, name, None) if name in errors.__all__ else None
    if found is SandboxDiedError:
        return SandboxDiedError(message, cause=cause)
    simple = isinstance(found, type) and issubclass(found, ForkError)
    if not simple or found is errors.AgentProgramError:
        return ExecutorError(message)
    made: ForkError = found(message)  # type: ignore[misc]  # checked above
    return made

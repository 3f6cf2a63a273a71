"""Values that host, placer and nodes send to each other, and checks of what comes.

What a node sends is not trusted: classes, types and sizes are checked before anything uses them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import errors
from ..errors import ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ..process.child_places import ChildRequest
from ..process.confinement_report import Bounds
from ..results import ExecutorStats, FileInfo
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.provisioner import ImageSpec, SandboxSpec, SandboxStatus
from ..sandboxes.resource_limits import Limits

__all__ = [
    "CLASSES",
    "NodeStats",
    "Reservation",
    "SupervisorPlace",
    "check_data",
    "check_files",
    "check_stats",
    "failure_data",
    "failure_of",
]

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


#: Classes whose instances are sent; an instance of any other is refused.
CLASSES: tuple[type, ...] = (
    Bounds, ChildRequest, ContainerOptions, ExecutorStats, FileInfo, ImageSpec, Limits,
    Reservation, SandboxSpec, SandboxStatus, SupervisorPlace,
)  # fmt: skip


def check_data(value: Any, cls: type[_Data]) -> _Data:
    """Return a value once it has the class and its fields have their types.

    Args:
        value: not trusted.
        cls: Dataclass whose fields are plain, or tuples of such.

    Raises:
        ProtocolError: another class or type, or a number out of range.
    """
    if type(value) is not cls:
        raise ProtocolError(f"expected {cls.__name__}")
    for name, hint in typing.get_type_hints(cls).items():
        if reason := _fault(getattr(value, name), hint):
            raise ProtocolError(f"{cls.__name__}.{name} {reason}")
    return value


def _fault(value: Any, hint: Any) -> str:
    """Return why a value is not one of a field; empty if it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return min((_fault(value, member) for member in arguments), key=len)
    if origin is tuple and type(value) is tuple:
        return next(filter(None, (_fault(element, arguments[0]) for element in value)), "")
    if type(value) is not hint and not (hint is float and type(value) is int):
        return "has a value of the wrong type"
    if isinstance(value, (int, float)) and not _LEAST <= value <= _MOST:
        return "is a number out of range"
    return ""


def check_stats(value: Any) -> ExecutorStats:
    """Return the resource use that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    stats = check_data(value, ExecutorStats)
    if any(number is not None and number < 0 for number in vars(stats).values()):
        raise ProtocolError("a node sent negative resource use")
    return stats


def check_files(value: Any) -> list[FileInfo]:
    """Return the list of files that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    if type(value) is not list or len(value) > _MOST_FILES:
        raise ProtocolError("a node sent an invalid list of files, or one that is too long")
    return [check_data(entry, FileInfo) for entry in value]


def failure_data(error: ForkError) -> list[str]:
    """Return class, message and cause of an error."""
    cause = error.cause if isinstance(error, SandboxDiedError) else ""
    return [type(error).__name__, str(error), cause]


def failure_of(data: Any) -> ForkError:
    """Return the error that plain data describe.

    Raises:
        ProtocolError: they describe none.
    """
    if type(data) is not list or [type(field) for field in data] != [str, str, str]:
        raise ProtocolError("an error has a class, a message and a cause")
    name, message, cause = data
    # Compared with the classes there are; nothing is imported that the node could choose.
    error_type = getattr(errors, name, None) if name in errors.__all__ else None
    if error_type is SandboxDiedError:
        return SandboxDiedError(message, cause=cause)
    simple = isinstance(error_type, type) and issubclass(error_type, ForkError)
    if not simple or error_type is errors.AgentProgramError:
        return ExecutorError(message)
    error: ForkError = error_type(message)  # type: ignore[misc]  # checked above
    return error

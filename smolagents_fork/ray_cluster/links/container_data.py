"""Options, specifications and answers as plain data, sent between host and node.

Every stream begins with one line of JSON from the node: what the host needs to know, or an error.
The rest are the bytes of the stream.
"""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import ConfigurationError, ForkError, ProtocolError
from ...results import ExecutorStats, FileInfo
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.provisioner import ImageSpec, Limits, SandboxSpec, SandboxStatus
from .failure_data import failure_data, failure_of
from .node_fields import fields_of

__all__ = [
    "as_data",
    "container_options_of",
    "file_infos_of",
    "image_spec_of",
    "read_head",
    "sandbox_spec_of",
    "send_head",
    "stats_of",
    "status_of",
]

_MOST_HEAD = 1 << 16
_MOST_FILES = 10_000
_NONE = type(None)
_STATS = {
    "memory_bytes": (int,),
    "memory_limit_bytes": (int, _NONE),
    "cpu_seconds": (int, float),
    "pids": (int, _NONE),
}
_STATUS = {
    "state": (str,),
    "exit_code": (int, _NONE),
    "out_of_memory": (bool,),
    "log_lines": (list,),
    "log_missing": (str,),
}
_FILE_INFO = {"path": (str,), "size": (int,)}
_PLAIN = (str, bytes, bool, int, float, type(None))


def as_data(value: object) -> Any:
    """Return a dataclass, or what it is made of, as plain data.

    Args:
        value: options or a specification.

    Raises:
        ConfigurationError: it has an object that cannot be sent to a node.
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


def container_options_of(data: Any) -> ContainerOptions:
    """Rebuild options from the output of :func:`as_data`."""
    return ContainerOptions(**data)


def image_spec_of(data: Any) -> ImageSpec:
    """Rebuild the specification of an image from the output of :func:`as_data`."""
    return ImageSpec(**{**data, "requirements": tuple(data["requirements"])})


def sandbox_spec_of(data: Any) -> SandboxSpec:
    """Rebuild the specification of a sandbox from the output of :func:`as_data`."""
    return SandboxSpec(**{**data, "limits": Limits(**data["limits"])})


def status_of(data: Any) -> SandboxStatus:
    """Return the status that a node has sent.

    Raises:
        ProtocolError: it is not one.
    """
    found = fields_of(data, _STATUS, "a status")
    if not all(type(line) is str for line in found["log_lines"]):
        raise ProtocolError("a node sent log lines that are not text")
    return SandboxStatus(**{**found, "log_lines": tuple(found["log_lines"])})


def stats_of(data: Any) -> ExecutorStats:
    """Return the resource use that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    found = fields_of(data, _STATS, "resource use")
    if any(value is not None and value < 0 for value in found.values()):
        raise ProtocolError("a node sent negative resource use")
    return ExecutorStats(**found)


def file_infos_of(data: Any) -> list[FileInfo]:
    """Return the list of files that a node has sent.

    Raises:
        ProtocolError: it is not that.
    """
    if type(data) is not list or len(data) > _MOST_FILES:
        raise ProtocolError("a node sent what is not a list of files, or one that is too long")
    return [FileInfo(**fields_of(one, _FILE_INFO, "a file's path and size")) for one in data]


def send_head(stream: socket.socket, fields: Mapping[str, Any], error: ForkError | None) -> None:
    """Send the line that begins a stream.

    Args:
        stream: blocking.
        fields: for the host.
        error: in place of a stream.
    """
    data: dict[str, Any] = {"error": failure_data(error)} if error else {"ok": dict(fields)}
    stream.sendall(json.dumps(data).encode() + b"\n")


def read_head(stream: socket.socket, seconds: float) -> dict[str, Any]:
    """Read the line that begins a stream, and no byte more.

    Args:
        stream: blocking.
        seconds: to wait at most.

    Raises:
        ForkError: what the node has raised.
        ConnectionError: the stream ended.
        TimeoutError: the line did not come in time.
        ProtocolError: it is not such a line.
    """
    deadline = Deadline(seconds)
    line = bytearray()
    while not line.endswith(b"\n"):
        stream.settimeout(max(0.001, deadline.at_most(seconds)))
        piece = stream.recv(1)
        if not piece:
            raise ConnectionError("the stream ended before its first line")
        line += piece
        if len(line) > _MOST_HEAD:
            raise ProtocolError("a node sent a first line that is too long")
    stream.settimeout(None)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a node sent a first line that is not JSON: {error}") from error
    if type(found) is dict and type(found.get("ok")) is dict:
        fields: dict[str, Any] = found["ok"]
        return fields
    if type(found) is dict and "error" in found:
        raise failure_of(found["error"])
    raise ProtocolError("a node sent a first line with neither fields nor an error")

"""Status of a container, within seconds, because a caller waits for an error message."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..provisioner import SandboxStatus
from .engine import client_copy
from .streams.log_tail import Tail
from .streams.logged_connection import LoggedConnection

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = ["container_status"]

# Seconds one query may take: the engine may have ended, too.
_QUERY_SECONDS = 1.5
_LOG_LINES = 8
# Seconds until the end of an ended container's output is read. The engine closes the output before
# it reports the end of the container, and a thread of this process reads it.
_OUTPUT_SECONDS = 2.0


def container_status(
    api: APIClient, container_id: str, since: float, connection: LoggedConnection
) -> SandboxStatus:
    """Return the status of a container; never raises.

    Args:
        api: docker-py's low-level client.
        container_id: of the container, which may be gone.
        since: time of its start, in seconds of the epoch.
        connection: to its first process, whose words about the end come first.
    """
    import docker
    import requests

    api, tail = client_copy(api, _QUERY_SECONDS), connection.tail
    state: Mapping[str, Any] = {}
    ended = "ended"
    try:
        state = api.inspect_container(container_id)["State"]
    except docker.errors.NotFound:
        ended = "ended and was removed"
    except (docker.errors.DockerException, requests.RequestException, OSError, ValueError):
        return SandboxStatus("unknown: the engine does not answer", log_lines=_lines(tail))
    out_of_memory = bool(state.get("OOMKilled"))
    if state.get("Running"):
        return SandboxStatus("running", None, out_of_memory, _lines(tail))
    is_whole = tail.wait(_OUTPUT_SECONDS)
    lines = _lines(tail)
    missing = "" if is_whole or lines else f"its output broke off: {tail.broken or 'no end came'}"
    code, killed = _exit(api, container_id, since, connection)
    code = state.get("ExitCode") if code is None else code
    return SandboxStatus(ended, code, out_of_memory or killed, lines, missing)


def _lines(tail: Tail) -> tuple[str, ...]:
    lines = (line[:300] for line in tail.text().splitlines()[-_LOG_LINES:])
    return tuple(line for line in lines if line.strip() and "IPKernelApp" not in line)


def _exit(
    api: APIClient, container_id: str, since: float, connection: LoggedConnection
) -> tuple[int | None, bool]:
    """Return exit code and out-of-memory in the words of the first process, or of the engine."""
    first = connection.first_process
    if first.end is not None:
        return first.end.exit_code, first.end.out_of_memory
    return _exit_from_events(api, container_id, since)


def _exit_from_events(api: APIClient, container_id: str, since: float) -> tuple[int | None, bool]:
    """Return exit code and out-of-memory from the engine's events, which outlive the container."""
    code, oom = None, False
    with contextlib.suppress(Exception):
        # Any: docker-py's types lack fractions of a second.
        until: Any = f"{time.time():.6f}"
        events = api.events(
            since=int(since) - 1,
            until=until,
            filters={"container": container_id},
            decode=True,
        )
        # To the end of the stream, which "until" sets: a stream that is read in part keeps its
        # connection.
        for event in events:
            if event.get("Action") == "oom":
                oom = True
            elif event.get("Action") == "die":
                code = int(event["Actor"]["Attributes"]["exitCode"])
    return code, oom

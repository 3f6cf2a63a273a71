"""Status of a container, within seconds, because a caller waits for an error message."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from ...first_process_link import MARK
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

    tail = connection.tail
    api = client_copy(api, _QUERY_SECONDS)
    lines: tuple[str, ...] = ()
    try:
        # The log first: the engine removes it with the container.
        with contextlib.suppress(docker.errors.APIError):
            lines = _log_lines(api, container_id, connection)
        state = api.inspect_container(container_id)["State"]
    except docker.errors.NotFound:
        lines, missing = _last_lines(tail, lines)
        code, oom = _exit(api, container_id, since, connection)
        return SandboxStatus("ended and was removed", code, oom, lines, missing)
    except (docker.errors.DockerException, requests.RequestException, OSError, ValueError):
        lines = lines or _shown(tail.text())
        return SandboxStatus("unknown: the engine does not answer", log_lines=lines)
    if state.get("Running"):
        return SandboxStatus("running", None, bool(state.get("OOMKilled")), lines)
    lines, missing = _last_lines(tail, lines)
    code, oom = _exit(api, container_id, since, connection)
    code = state.get("ExitCode") if code is None else code
    return SandboxStatus("ended", code, oom or bool(state.get("OOMKilled")), lines, missing)


def _log_lines(api: APIClient, container_id: str, connection: LoggedConnection) -> tuple[str, ...]:
    # The standard output of a first process that is spoken to is its own, and has its answers.
    stdout = connection.first_process is None
    text = api.logs(container_id, stdout=stdout, tail=_LOG_LINES)
    return _shown(text.decode("utf-8", "replace"))


def _last_lines(tail: Tail, lines: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the last log lines of a container that has ended, or the reason for having none.

    Args:
        tail: the end of its output.
        lines: of the engine's log, which may lack the very last ones.
    """
    if tail.wait(_OUTPUT_SECONDS):
        return _shown(tail.text()), ""
    lines = lines or _shown(tail.text())
    return lines, "" if lines else f"its output broke off: {tail.broken or 'no end came'}"


def _shown(text: str) -> tuple[str, ...]:
    lines = (line[:300] for line in text.splitlines()[-_LOG_LINES:])
    return tuple(
        line for line in lines
        if line.strip() and "IPKernelApp" not in line and not line.startswith(MARK)
    )  # fmt: skip


def _exit(
    api: APIClient, container_id: str, since: float, connection: LoggedConnection
) -> tuple[int | None, bool]:
    """Return exit code and out-of-memory in the words of the first process, or of the engine."""
    first = connection.first_process
    if first is not None and first.end is not None:
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

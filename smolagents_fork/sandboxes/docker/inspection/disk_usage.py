"""The engine's report of what images and volumes take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ..engine import mapped_errors

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["disk_usage"]

# Time for the reports of other callers: the engine makes one at a time, and refuses a second.
_BUSY_SECONDS = 60.0
_PAUSE_SECONDS = 0.1


def disk_usage(client: DockerClient) -> dict[str, Any]:
    """Return the report; waits while the engine makes one for another caller.

    Args:
        client: docker-py client; its timeout limits each call.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """
    import docker

    deadline = Deadline(_BUSY_SECONDS)
    while True:
        with mapped_errors("asking what images and volumes take"):
            try:
                report: dict[str, Any] = client.df()
                return report
            except docker.errors.APIError as error:
                if "already running" not in str(error.explanation) or deadline.expired():
                    raise
        time.sleep(_PAUSE_SECONDS)

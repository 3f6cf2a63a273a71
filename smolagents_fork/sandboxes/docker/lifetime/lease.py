"""Lease that ends a container whose host process or engine was killed, with any image.

The host process writes a byte to the container's standard input several times in each lease. The
container's first process reads them, and exits when none has come for the time of the lease. With
process 1 of a PID namespace the system ends all others (``pid_namespaces(7)``), and the engine
removes the container. A lost connection does not matter by itself: the input stays open, and the
host process attaches to it again. Nothing but time ends a container whose engine is dead, because
nobody closes its input then.

It has to be process 1, because the code has the same user and could kill or stop any other. It also
does the work of an init process: reaps orphans, and passes signals on to the main process.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ...containers.first_process import first_command

__all__ = ["leased", "main_command"]


def main_command(config: Mapping[str, Any], extra: Mapping[str, Any]) -> list[str]:
    """Return the command that the container would run without a lease.

    Args:
        config: the image's ``Config``, as the engine's inspection gives it.
        extra: the user's arguments, whose ``entrypoint`` and ``command`` replace the image's. An
            entrypoint alone removes the image's command, as in the engine.
    """
    entrypoint = _arguments(extra.get("entrypoint"))
    command = _arguments(extra.get("command"))
    if entrypoint is None:
        entrypoint = _arguments(config.get("Entrypoint"))
        if command is None:
            command = _arguments(config.get("Cmd"))
    return [*(entrypoint or ()), *(command or ())]


def _arguments(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return shlex.split(value) if isinstance(value, str) else list(value)


def leased(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return docker-py's arguments that run ``command`` under the lease.

    Args:
        command: the container's main process and its arguments.
        seconds: the lease; rounded up.
    """
    return {
        "entrypoint": first_command(seconds),
        "command": list(command),
        # Detached: docker-py leaves standard input open when its first connection ends.
        "stdin_open": True,
        "detach": True,
    }

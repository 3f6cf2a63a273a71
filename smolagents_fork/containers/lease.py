"""The lease: what ends a container whose host process was killed, whatever its image is.

The container's standard input is held open by the host process and nobody writes to it. The engine
closes it when the connection breaks, as the kernel of the host does for a killed process. A watcher
beside the container's main process waits for that, then for the lease, and ends the main process;
with it the container ends and the engine removes it.

It takes a POSIX shell, ``cat`` and ``sleep`` in the image, nothing of the image's own making.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["leased", "main_command"]

# Run as: /bin/sh -c WATCH sandbox LEASE COMMAND... The main process replaces the shell, except
# where the shell is process 1 (a container without an init process): nobody inside can kill that.
WATCH = """
lease=$1; shift
exec 3<&0 </dev/null
if [ $$ = 1 ]; then "$@" 3<&- & main=$!; else main=$$; fi
(
    cat <&3 >/dev/null 2>&1
    sleep "$lease"
    echo "the host process is gone for $lease s: its lease is over" >&2
    kill -KILL "$main"
) &
exec 3<&-
if [ $$ = 1 ]; then wait "$main"; exit $?; fi
exec "$@"
"""


def main_command(config: Mapping[str, Any], extra: Mapping[str, Any]) -> list[str]:
    """What the container would run without a lease.

    Args:
        config: the image's ``Config``, as the engine's inspection gives it.
        extra: the user's arguments, whose ``entrypoint`` and ``command`` replace the image's; an
            entrypoint alone takes the image's command away, as it does for the engine.
    """
    entrypoint = _words(extra.get("entrypoint"))
    command = _words(extra.get("command"))
    if entrypoint is None:
        entrypoint = _words(config.get("Entrypoint"))
        if command is None:
            command = _words(config.get("Cmd"))
    return [*(entrypoint or ()), *(command or ())]


def _words(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return shlex.split(value) if isinstance(value, str) else list(value)


def leased(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """docker-py's arguments that run ``command`` under the lease.

    Args:
        command: the container's main process and its arguments.
        seconds: the lease; rounded up, since not every ``sleep`` knows fractions.
    """
    return {
        "entrypoint": ["/bin/sh", "-c", WATCH, "sandbox", str(math.ceil(seconds))],
        "command": list(command),
        # Not detached, for docker-py: only then does standard input end with its first connection.
        "stdin_open": True,
        "detach": False,
    }

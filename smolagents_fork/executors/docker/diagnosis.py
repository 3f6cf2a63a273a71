"""Finding out what ended, and reaching what is only just coming up."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import time

from ...jupyter.websocket import ConnectionLost
from ...limits import Deadline
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.provisioner import Evidence
from ...sandboxes.resource_limits import parse_size
from .options import Options

__all__ = [
    "cause_of_death",
    "connected",
    "last_words",
    "shown_output",
    "signal_name",
    "start_advice",
]

# What docker/jupyter/gateway.py logs when a kernel has ended; other images say nothing.
_KERNEL_ENDED = re.compile(r"kernel (\d+) ended: exit code (-?\d+|None)(, out of memory)?")
# What the gateway logs about the kernel it starts in its place.
_NEW_KERNEL = re.compile(r"KernelGatewayApp\] .*restart|KernelRestarter")
# How long the engine may take to notice that a container has ended, and to pass on what was logged:
# this long, or as long as so many questions take, for an engine that is slow to answer is slow to
# notice too.
_PATIENCE_SECONDS = 0.7
_PATIENCE_QUESTIONS = 10
_MOST_PATIENCE_SECONDS = 5.0
_SHOWN_LOG_CHARS = 4000
# What a start that fails with less may have failed for.
_PLENTY_OF_PIDS = 40
_PLENTY_OF_MEMORY = 150 << 20


def cause_of_death(
    sandbox: DockerSandbox, of_kernel: bool, known: int
) -> tuple[Evidence, tuple[str, str, str] | None]:
    """What the engine knows, and the gateway's line about the kernel that ended.

    Both may come a moment after the news that something has ended.

    Args:
        sandbox: in which something ended.
        of_kernel: whether it was the kernel, so that the gateway is still there to say so.
        known: number of the last kernel of this sandbox whose end is known.

    Returns:
        evidence, and number, exit code and out-of-memory mark of the kernel that ended.
    """
    started = time.monotonic()
    end = 0.0
    while True:
        evidence = sandbox.evidence()
        if not end:
            patience = _PATIENCE_QUESTIONS * (time.monotonic() - started)
            end = started + min(max(patience, _PATIENCE_SECONDS), _MOST_PATIENCE_SECONDS)
        endings = _KERNEL_ENDED.findall("\n".join(evidence.log_lines))
        new = [found for found in endings if int(found[0]) > known]
        enough = of_kernel and bool(new)
        if enough or evidence.state != "running" or time.monotonic() > end:
            return evidence, new[-1] if new else None
        time.sleep(0.05)


def signal_name(code: str) -> str:
    """In brackets, the signal that a negative exit code of a process stands for; else nothing."""
    with contextlib.suppress(ValueError):
        return f" ({signal.Signals(-int(code)).name})"
    return ""


def last_words(evidence: Evidence) -> str:
    """What was logged last, without the gateway's own lines about the end; may be nothing."""
    lines = [
        line
        for line in evidence.log_lines
        if not _KERNEL_ENDED.search(line) and not _NEW_KERNEL.search(line)
    ]
    return f"; last log lines: {' | '.join(lines)}" if lines else ""


def start_advice(options: Options) -> str:
    """What may help a start that has failed, for the end of its message; may be nothing.

    Args:
        options: that were asked for.
    """
    advice = []
    if options.image is not None or options.dockerfile_content is not None:
        advice.append(
            "an image of your own has to start a Jupyter kernel gateway on port 8888, "
            "and needs python3"
        )
    if options.pids_limit is not None and options.pids_limit < _PLENTY_OF_PIDS:
        advice.append(
            f"pids_limit={options.pids_limit!r} may be too low: gateway and kernel have about 20 "
            "processes and threads"
        )
    memory = parse_size(options.memory) if options.memory is not None else None
    if memory is not None and memory < _PLENTY_OF_MEMORY:
        advice.append(
            f"memory={options.memory!r} may be too low: gateway and kernel take about 90 MB"
        )
    return "".join(f"; {text}" for text in advice)


def connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A TCP connection to a published gateway, as soon as something listens.

    Args:
        host: address on this side.
        port: its number.
        deadline: of the whole start.

    Raises:
        ConnectionLost: nothing listened in time.
    """
    while True:
        try:
            sock = socket.create_connection((host, port), timeout=deadline.at_most(5.0) or 0.001)
        except OSError as error:
            if deadline.expired():
                raise ConnectionLost(f"nothing listens on {host}:{port}: {error}") from None
            time.sleep(0.02)
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return sock


def shown_output(logs: str) -> str:
    """What a call had printed, for the end of an error message; its end when it was much."""
    if not logs:
        return ""
    if len(logs) > _SHOWN_LOG_CHARS:
        logs = f"... [{len(logs) - _SHOWN_LOG_CHARS} characters before]\n{logs[-_SHOWN_LOG_CHARS:]}"
    return f"\n\nOutput printed before the error:\n{logs}"

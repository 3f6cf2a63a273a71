"""Finding out what ended, and saying so."""

from __future__ import annotations

import contextlib
import re
import signal
import time
from dataclasses import dataclass

from ...sandboxes.provisioner import Limits, Sandbox, SandboxStatus
from ...sandboxes.resource_limits import parse_size

__all__ = [
    "Ending",
    "KernelEnd",
    "find_ending",
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


@dataclass(frozen=True)
class KernelEnd:
    """The gateway's line about a kernel that has ended.

    Attributes:
        number: of the kernel, counted in its sandbox.
        exit_code: as text; ``None`` in words where the gateway does not know it.
        out_of_memory: whether the system killed it for lack of memory.
    """

    number: int
    exit_code: str
    out_of_memory: bool


@dataclass(frozen=True)
class Ending:
    """Evidence about a kernel, gateway or container that has ended.

    Attributes:
        status: of the sandbox.
        kernel: that ended in it; ``None`` while that is not known.
    """

    status: SandboxStatus
    kernel: KernelEnd | None


def find_ending(sandbox: Sandbox, *, of_kernel: bool, known: int) -> Ending:
    """Return what the provisioner knows, and the gateway's line about the kernel that ended.

    Both may come a moment after the news that something has ended.

    Args:
        sandbox: in which something ended.
        of_kernel: whether it was the kernel, so that the gateway is still there to say so.
        known: number of the last kernel of this sandbox whose end is known.
    """
    started = time.monotonic()
    end = 0.0
    while True:
        status = sandbox.status()
        if not end:
            patience = _PATIENCE_QUESTIONS * (time.monotonic() - started)
            end = started + min(max(patience, _PATIENCE_SECONDS), _MOST_PATIENCE_SECONDS)
        found = _KERNEL_ENDED.findall("\n".join(status.log_lines))
        kernels = [KernelEnd(int(number), code, bool(oom)) for number, code, oom in found]
        new = [kernel for kernel in kernels if kernel.number > known]
        enough = of_kernel and bool(new)
        if enough or not status.running or time.monotonic() > end:
            return Ending(status, new[-1] if new else None)
        time.sleep(0.05)


def signal_name(code: str) -> str:
    """In brackets, the signal that a negative exit code of a process stands for; else nothing."""
    with contextlib.suppress(ValueError):
        return f" ({signal.Signals(-int(code)).name})"
    return ""


def last_words(status: SandboxStatus) -> str:
    """Give the last log lines without the gateway's own lines about the end; may be empty."""
    lines = [
        line
        for line in status.log_lines
        if not _KERNEL_ENDED.search(line) and not _NEW_KERNEL.search(line)
    ]
    return f"; last log lines: {' | '.join(lines)}" if lines else ""


def start_advice(limits: Limits, *, own_image: bool) -> str:
    """Return what may help a start that has failed, for the end of its message; may be nothing.

    Args:
        limits: that were asked for.
        own_image: whether the image is the user's.
    """
    advice = []
    if own_image:
        advice.append(
            "an image of your own has to start a Jupyter kernel gateway on port 8888, "
            "and needs python3"
        )
    if limits.pids is not None and limits.pids < _PLENTY_OF_PIDS:
        advice.append(
            f"pids_limit={limits.pids!r} may be too low: gateway and kernel have about 20 "
            "processes and threads"
        )
    memory = parse_size(limits.memory) if limits.memory is not None else None
    if memory is not None and memory < _PLENTY_OF_MEMORY:
        advice.append(
            f"memory={limits.memory!r} may be too low: gateway and kernel take about 90 MB"
        )
    return "".join(f"; {text}" for text in advice)


def shown_output(logs: str) -> str:
    """Format what a call printed for the end of an error message, cut at its beginning."""
    if not logs:
        return ""
    if len(logs) > _SHOWN_LOG_CHARS:
        logs = f"... [{len(logs) - _SHOWN_LOG_CHARS} characters before]\n{logs[-_SHOWN_LOG_CHARS:]}"
    return f"\n\nOutput printed before the error:\n{logs}"

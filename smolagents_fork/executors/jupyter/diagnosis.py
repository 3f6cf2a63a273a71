"""Diagnosis of ends: the evidence about a kernel or sandbox that has ended."""

from __future__ import annotations

import contextlib
import re
import signal
import time
from dataclasses import dataclass

from ...sandboxes.provisioner import Sandbox, SandboxStatus

__all__ = [
    "Ending",
    "KernelEnd",
    "find_ending",
    "last_log_lines",
    "signal_name",
]

# The line of the fork's own gateway about a kernel that has ended; other gateways log none. Code
# can write to that log, too.
_KERNEL_ENDED = re.compile(r"kernel (\d{1,9}) ended: exit code (-?\d{1,9}|None)(, out of memory)?")
# Lines of Jupyter's packaged gateway about the kernel that it starts instead.
_NEW_KERNEL = re.compile(r"KernelGatewayApp\] .*restart|KernelRestarter")
# Time an engine may take to notice that a sandbox has ended, and to deliver its log. It is the time
# of ten queries, within bounds: an engine that is slow to answer is also slow to notice.
_LEAST_WAIT_SECONDS = 0.7
_WAIT_QUERIES = 10
_MOST_WAIT_SECONDS = 5.0


@dataclass(frozen=True)
class KernelEnd:
    """The gateway's line about a kernel that has ended.

    Attributes:
        number: of the kernel, counted in its sandbox.
        exit_code: as text; ``"None"`` if the gateway does not know it.
        out_of_memory: whether the system killed it for lack of memory.
    """

    number: int
    exit_code: str
    out_of_memory: bool


@dataclass(frozen=True)
class Ending:
    """Evidence about a kernel, gateway or sandbox that has ended.

    Attributes:
        status: of the sandbox.
        kernel: that ended in it; ``None`` if that is not known.
    """

    status: SandboxStatus
    kernel: KernelEnd | None


def find_ending(sandbox: Sandbox, *, of_kernel: bool, known: int) -> Ending:
    """Return the sandbox's status and the gateway's line about the kernel that ended.

    Both may arrive a moment after the end was noticed.

    Args:
        sandbox: in which kernel or gateway ended, or that ended itself.
        of_kernel: whether the kernel ended, so that the gateway still runs and logs it.
        known: number of the last kernel of this sandbox whose end is known.
    """
    started = time.monotonic()
    end = 0.0
    while True:
        status = sandbox.status()
        if not end:
            wait = _WAIT_QUERIES * (time.monotonic() - started)
            end = started + min(max(wait, _LEAST_WAIT_SECONDS), _MOST_WAIT_SECONDS)
        found = _KERNEL_ENDED.findall("\n".join(status.log_lines))
        kernels = [KernelEnd(int(number), code, bool(oom)) for number, code, oom in found]
        new = [kernel for kernel in kernels if kernel.number > known]
        enough = of_kernel and bool(new)
        if enough or not status.running or time.monotonic() > end:
            return Ending(status, new[-1] if new else None)
        time.sleep(0.05)


def signal_name(code: str) -> str:
    """Return the signal of a negative exit code in brackets; empty for other exit codes."""
    with contextlib.suppress(ValueError):
        return f" ({signal.Signals(-int(code)).name})"
    return ""


def last_log_lines(status: SandboxStatus) -> str:
    """Return the last log lines without the gateway's lines about the end; may be empty."""
    lines = [
        line
        for line in status.log_lines
        if not _KERNEL_ENDED.search(line) and not _NEW_KERNEL.search(line)
    ]
    return f"; last log lines: {' | '.join(lines)}" if lines else ""

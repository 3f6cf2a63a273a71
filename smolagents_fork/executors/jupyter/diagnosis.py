"""Diagnosis of ends: the engine's evidence about a sandbox whose stream has ended."""

from __future__ import annotations

import time

from ...sandboxes.provisioner import GatewaySandbox, SandboxStatus

__all__ = ["may_run", "status_after_end"]

# Time an engine may take to notice that a sandbox has ended, and to deliver its log. It is the time
# of ten queries, within bounds: an engine that is slow to answer is also slow to notice. A node of
# a cluster reports the end of a container within three seconds.
_LEAST_WAIT_SECONDS = 4.0
_WAIT_QUERIES = 10
_MOST_WAIT_SECONDS = 5.0


def status_after_end(sandbox: GatewaySandbox) -> SandboxStatus:
    """Return the status of a sandbox whose stream has ended, which the engine may notice later.

    Args:
        sandbox: that has ended itself, or lost its stream.
    """
    started = time.monotonic()
    end = 0.0
    while True:
        status = sandbox.status()
        if not end:
            wait = _WAIT_QUERIES * (time.monotonic() - started)
            end = started + min(max(wait, _LEAST_WAIT_SECONDS), _MOST_WAIT_SECONDS)
        if not status.running or time.monotonic() > end:
            return status
        time.sleep(0.05)


def may_run(sandbox: GatewaySandbox) -> bool:
    """Return whether a sandbox runs, or an engine that does not answer may still run it."""
    status = sandbox.status()
    return status.running or status.state.startswith("unknown")

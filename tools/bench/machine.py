"""The machine a benchmark runs on, and whether it was busy: a figure without them says little."""

from __future__ import annotations

import os
import platform
from typing import Any

__all__ = ["busy_note", "machine", "machine_text"]

#: Share of the cores that other work may take before a run says that it was disturbed.
BUSY_SHARE = 0.5


def machine() -> dict[str, Any]:
    """Processor, cores, system, Python, and the load average of the last minute."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    model = line.partition(":")[2].strip()
                    break
    except OSError:
        pass
    return {
        "system": platform.platform(),
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def machine_text(where: dict[str, Any]) -> str:
    """Return the machine in a line, as every page names it.

    Args:
        where: from :func:`machine`.
    """
    return (
        f"{where['cores']} cores ({where['processor']}), {where['system']}, Python "
        f"{where['python']}, load {where['load_before']:.1f} before the run"
    )


def busy_note(where: dict[str, Any]) -> str | None:
    """Format the note about a machine that was busy at the start; ``None`` if it was idle.

    Args:
        where: from :func:`machine`.
    """
    load, cores = where["load_before"], where["cores"] or 1
    if load <= cores * BUSY_SHARE:
        return None
    return (
        f"The machine was busy when this run began (load {load:.1f} on {cores} cores): a quiet one "
        "gives smaller times on both sides."
    )

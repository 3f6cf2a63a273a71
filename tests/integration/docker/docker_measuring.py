"""Costs for the host: memory as the system counts it, descriptors, threads."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator


class Peak:
    """Bytes this process had more at its highest than at the start of the block."""

    bytes = 0


@contextlib.contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure resident memory, numpy's and other libraries' included, and not Python's alone."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # not the GNU C library
        # Freed memory that is still resident would be used again, and not be seen.
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # proc(5): the peak begins anew
    before, peak = _status("VmRSS"), Peak()
    try:
        yield peak
    finally:
        peak.bytes = _status("VmHWM") - before


def _status(name: str) -> int:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"/proc/self/status has no {name}")


def descriptors() -> int:
    """Open file descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


def thread_names(prefix: str = "") -> Counter[str]:
    """Count the threads of this process by name."""
    names = (thread.name for thread in threading.enumerate())
    return Counter(name for name in names if name.startswith(prefix))

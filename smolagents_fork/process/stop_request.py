"""Layout of the memory in which the host names the run that it wants to stop."""

from __future__ import annotations

import struct

__all__ = ["REQUEST_SIZE", "STOPPED_RUN"]

#: Number of the last run that the host asked to stop, written by the host.
STOPPED_RUN = struct.Struct("=I")
#: Bytes of the memory: a page, since smaller ones cannot be mapped.
REQUEST_SIZE = 4096

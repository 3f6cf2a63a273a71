"""Layout of the output log: memory shared with the host that survives the child."""

from __future__ import annotations

import struct

from ..guest.frames import MOST_OUTPUT

__all__ = ["LOG_HEADER", "LOG_SIZE", "LOG_TEXT", "STOPPED_RUN"]

#: The child writes how often the log was sent, how long the text in it is, and the text; the host
#: reads what has not been sent yet.
LOG_SIZE = MOST_OUTPUT
LOG_HEADER = struct.Struct("=II")
#: After the log's header: the last run that the host has asked to stop. The host writes it.
STOPPED_RUN = struct.Struct("=I")
#: Where the log's text begins.
LOG_TEXT = LOG_HEADER.size + STOPPED_RUN.size

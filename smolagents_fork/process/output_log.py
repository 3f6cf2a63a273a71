"""Layout of the output log: memory shared with the host that survives the child."""

from __future__ import annotations

import struct

from ..guest.frames import MOST_OUTPUT

__all__ = ["LOG_HEADER", "LOG_SIZE", "LOG_TEXT", "STOPPED_RUN"]

#: The child writes how often the log was sent, the length of its text, and the text. The host reads
#: text that has not been sent yet.
LOG_SIZE = MOST_OUTPUT
LOG_HEADER = struct.Struct("=II")
#: After the log's header: number of the last run that the host asked to stop, written by the host.
STOPPED_RUN = struct.Struct("=I")
#: Offset of the log's text.
LOG_TEXT = LOG_HEADER.size + STOPPED_RUN.size

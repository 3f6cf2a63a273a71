"""Results of an executor's calls besides upstream's ``CodeOutput``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Display", "Execution", "ExecutorStats"]

# Best first: what a person or a vision model can use, down to what every object has.
PREFERRED_MIME_TYPES = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/svg+xml",
    "text/html",
    "application/json",
    "text/latex",
    "text/markdown",
    "text/plain",
)


@dataclass(frozen=True)
class Display:
    """One rich display, in the order the code made them.

    Attributes:
        mime_type: of the best form that arrived (``image/png``, ``text/html`` ...).
        value: a PIL image for bitmap images, a Python value for JSON, text for everything else.
        forms: every form that arrived, by MIME type, as the protocol carries it
            (base64 text for bitmap images).
    """

    mime_type: str
    value: Any
    forms: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Execution:
    """Everything one call gave.

    Attributes:
        output: the value of the last expression, or the final answer.
        logs: what the code printed, standard output and standard error in order.
        is_final_answer: whether the code called ``final_answer``.
        displays: figures and rich displays, in order.
        logs_cut_bytes: bytes of output that were dropped because ``max_output_bytes`` was reached.
        seconds: the time the code had, without the time the host worked for it.
    """

    output: Any
    logs: str
    is_final_answer: bool = False
    displays: tuple[Display, ...] = ()
    logs_cut_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class ExecutorStats:
    """Resources that a sandbox uses at this moment.

    Attributes:
        memory_bytes: memory in use, page cache that can be dropped left out.
        memory_limit_bytes: the limit, ``None`` when there is none.
        cpu_seconds: processor time spent since the start.
        pids: processes and threads now; ``None`` when the platform does not say.
    """

    memory_bytes: int
    memory_limit_bytes: int | None
    cpu_seconds: float
    pids: int | None

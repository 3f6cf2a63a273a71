"""Results of an executor's calls besides upstream's ``CodeOutput``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Display", "Execution", "ExecutorStats", "FileInfo"]

# Best first: from images for people and vision models down to the text that every object has.
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
    """One rich display.

    Attributes:
        mime_type: MIME type of the best form received (``image/png``, ``text/html`` ...).
        value: A PIL image for bitmap images, a Python value for JSON, text for everything else. A
            kernel that is not the fork's own may send a bitmap that is not a PNG. The host does not
            open it: it is in ``forms``, and ``value`` is the next best form, or the same bytes or
            base64 text if that is the only form.
        forms: Every form received, by MIME type; a bitmap is a PIL image if the sandbox has opened
            it, else bytes or base64 text.
        path: File on the host that a figure was saved in; ``None`` if it was not.
        save_error: Why it could not be saved in ``figures_dir``; empty if nothing failed.

    Example:
        >>> with ProcessExecutor() as executor:
        ...     execution = executor.run("display({'total': 42})")
        >>> execution.displays[0].value
        "{'total': 42}"
        >>> execution.displays[0].is_figure
        False
    """

    mime_type: str
    value: Any
    forms: Mapping[str, Any] = field(default_factory=dict, repr=False)
    path: str | None = None
    save_error: str = ""

    @property
    def is_figure(self) -> bool:
        """True if ``value`` is a PIL image."""
        return self.mime_type.startswith("image/") and hasattr(self.value, "getbands")


@dataclass(frozen=True)
class Execution:
    """Result of one call.

    Attributes:
        output: The value of the last expression, or the final answer.
        logs: The printed text, standard output and standard error in order.
        is_final_answer: Whether the code called ``final_answer``.
        displays: Figures and rich displays, in order.
        logs_cut_chars: Characters of output left out because of ``max_print_outputs_length``.
        seconds: Run time of the code in seconds, excluding the time the host worked for it.

    Example:
        >>> with ProcessExecutor() as executor:
        ...     execution = executor.run("print('hello'); 6 * 7")
        >>> execution.output, execution.logs
        (42, 'hello\\n')
    """

    output: Any
    logs: str
    is_final_answer: bool = False
    displays: tuple[Display, ...] = ()
    logs_cut_chars: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class ExecutorStats:
    """Current resource use of a sandbox.

    Attributes:
        memory_bytes: Memory in use, excluding page cache that can be reclaimed.
        memory_limit_bytes: The limit; ``None`` without a limit.
        cpu_seconds: Processor time used since the start.
        pids: Current number of processes and threads; ``None`` if the platform does not report it.

    Example:
        >>> with ProcessExecutor(memory="512m") as executor:
        ...     executor.stats().memory_limit_bytes
        536870912
    """

    memory_bytes: int
    memory_limit_bytes: int | None
    cpu_seconds: float
    pids: int | None


@dataclass(frozen=True)
class FileInfo:
    """One file that code of an executor can open.

    Attributes:
        path: Path with slashes, relative to the work folder; absolute outside of it.
        size: Size in bytes.

    Example:
        >>> with ProcessExecutor(files={"data.csv": b"1,2,3"}) as executor:
        ...     executor.list_files()
        [FileInfo(path='data.csv', size=5)]
    """

    path: str
    size: int

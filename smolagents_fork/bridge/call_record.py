"""Record of a call of a tool that has ended."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CallRecord"]


@dataclass(frozen=True)
class CallRecord:
    """One served call, for the log.

    Attributes:
        name: name of the tool.
        seconds: run time on the host, in seconds.
        error: type and message of the exception; ``None`` if the tool returned.
        request_bytes: size of its arguments in their encoded form; 0 where they are not encoded.
        reply_bytes: the same of its result.
        refused: whether ``before_call`` has refused it.
    """

    name: str
    seconds: float
    error: str | None = None
    request_bytes: int = 0
    reply_bytes: int = 0
    refused: bool = False

    def __str__(self) -> str:
        """Format the line for the log, which is the same for all executors."""
        ending = "returned" if self.error is None else f"raised {self.error}"
        return f"{self.name}() {ending} after {self.seconds * 1000:.1f} ms"

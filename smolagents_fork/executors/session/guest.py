"""Requirements of a session on a guest: the process, machine or container that runs the code.

The session knows the rules: limits, interruption, the final answer, deaths, the preparation of a
new guest. A guest knows the messages by which it is spoken to.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ...call_output import CallOutput
from ...deadline import Deadline
from ...errors import SandboxDiedError
from ...guest.frames import Body
from ...output import truncate

__all__ = ["Ask", "Call", "End", "Failure", "Guest", "GuestSource", "Request", "Task"]

# Characters of each text of an exception, all of which a model may be sent.
_MOST_CHARACTERS = 250_000


class Task(enum.Enum):
    """Requests that the host makes of a guest between two runs."""

    SETUP = enum.auto()  # body: what the guest must know before all else
    TOOLS = enum.auto()  # body: the specifications of all stubs, encoded
    # body: joined messages, each of values by name or of names to remove; others are pickled
    VARIABLES = enum.auto()
    READ_STATE = enum.auto()  # the answer: the program's variables, encoded
    FILE = enum.auto()  # body: a request for a file
    PACKAGES = enum.auto()  # bodies: settings of an installation, encoded, and certificates
    CODE = enum.auto()  # definitions of tools in source form


@dataclass(frozen=True)
class Request:
    """One request between two runs.

    Attributes:
        task: the guest's task.
        bodies: data of the request.
        code: of :attr:`Task.CODE`.
        seconds: time limit besides that of the data; ``None``: ``startup_timeout_seconds``.
    """

    task: Task
    bodies: Sequence[Body] = ()
    code: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Failure:
    """Exception that ended a run or refused a request.

    Texts of a guest that is as it should be are below the limit, which others are cut to.

    Attributes:
        name: of the exception's class.
        value: its message.
        traceback: with the message; empty if the guest sends none.
    """

    name: str
    value: str
    traceback: str = ""

    def __post_init__(self) -> None:
        for attribute in ("name", "value", "traceback"):
            text = truncate(getattr(self, attribute), _MOST_CHARACTERS)
            object.__setattr__(self, attribute, text)


@dataclass(frozen=True)
class Call:
    """Call of a tool, which the program waits for.

    Attributes:
        request: encoded.
        reply: sends the encoded answer, before a deadline.
    """

    request: bytes | bytearray | memoryview
    reply: Callable[[bytes, Deadline], None]


@dataclass(frozen=True)
class End:
    """End of a run or a request.

    Attributes:
        read: returns the value of a run, decoded, or the bytes of an answer. Called once, and only
            if the value counts.
        failure: the exception that ended it; ``None`` without one.
        is_final_answer: whether the guest says that the final answer has ended it.
    """

    read: Callable[[], Any]
    failure: Failure | None = None
    is_final_answer: bool = False


class Guest(Protocol):
    """One guest.

    Only one thread at a time may call the methods other than :meth:`kill`.
    """

    #: Noun for messages: what the next call starts in its place.
    noun: ClassVar[str]

    @property
    def recorder(self) -> object:
        """Object that may keep figures of calls.

        Its method ``record_call(seconds)``, if it has one, takes the time of each run of code,
        tools included. It never waits and never raises.
        """

    def run(self, code: str, output: CallOutput, deadline: Deadline) -> None:
        """Begin a run; :meth:`turn` gives its calls and its end.

        Args:
            code: of the program.
            output: takes what it prints and displays.
            deadline: of the run.
        """

    def ask(self, request: Request, deadline: Deadline) -> None:
        """Begin a request; :meth:`turn` gives its end. Arguments as for :meth:`run`."""

    def turn(self, seconds: float) -> Call | End | None:
        """Send what the guest reads, and take at most one message.

        Args:
            seconds: to wait at most when there is nothing to send or read.

        Raises:
            SandboxDiedError: the guest has ended.
            ProtocolError: the guest violates the protocol.
        """

    @property
    def unread(self) -> str:
        """Part of the request that the guest has not read, for messages; empty if it has."""

    def interrupt(self) -> None:
        """Interrupt the run or request; the guest decides how often a repetition is sent."""

    def is_alive(self) -> bool:
        """Tell whether the guest is not known to have ended; called between runs."""

    def kill(self) -> None:
        """End the guest at once; any thread may call this."""

    def death(self) -> SandboxDiedError:
        """Return the error that describes the guest's end; one still running is killed."""

    def close(self) -> None:
        """End the guest and release all its resources. Idempotent."""


#: Makes a request of a guest that is being prepared; takes the name of the action for messages.
Ask = Callable[[Request, str], bytes]


class GuestSource(Protocol):
    """Starts the guests of one executor, one after the other."""

    def start(self, stop: Callable[[], bool]) -> Guest:
        """Start a guest.

        Args:
            stop: returns whether :meth:`Session.interrupt` was called, so that nothing more need be
                sent, and nothing that is left of the last run need be waited for.
        """

    def set_up(self, ask: Ask) -> None:
        """Do the first step of a new guest's preparation, before it gets tools and variables.

        Raises:
            ExecutorStartError: the guest does not have what it must.
        """

    def close(self) -> None:
        """Remove what guests leave, and refuse new ones. Idempotent, from any thread."""

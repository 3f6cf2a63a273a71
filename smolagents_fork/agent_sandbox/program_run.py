"""One run of a program in a sandbox, seen from the host."""

from __future__ import annotations

import codecs
import contextlib
import select
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..codec import DEFAULT_MAX_BYTES, decode, encode
from ..deadline import Deadline
from ..errors import AgentProgramError, DecodeError, ProtocolError, SandboxTimeoutError
from ..output import OutputCallback, PrintContainer
from ..sandboxes.provisioner import ByteStream
from .model_service import ModelLimits, ModelService, RunningCalls, TooManyCallsError
from .outbox import Outbox
from .run_frames import FrameBuffer, FrameTooLongError, Kind, from_supervisor

__all__ = ["ConnectionLost", "Ending", "Job", "carry_out"]

# Characters of the output that an error has.
_SHOWN = 2_000
_KEPT = "its processes were killed, and the sandbox's files stay. Its output ended with:\n"
_READ_BYTES = 1 << 18
# How often a wait without a deadline of its own looks up.
_WAIT_SECONDS = 1.0
# How long the supervisor may read nothing of what is sent to it. A program may leave the answer to
# a call unread for a minute before the supervisor gives that call up.
_STALLED_SECONDS = 90.0
# Exit codes of processes; those of signals are negative.
_EXIT_CODES = range(-255, 256)


class ConnectionLost(Exception):
    """The stream to the supervisor ended within a run."""


@dataclass(frozen=True)
class Job:
    """A program to run.

    Attributes:
        argv: arguments of the interpreter; ``{run}`` in them is the folder of ``files``.
        files: content by relative path.
        environment: variables of the program, beside those of the sandbox.
        result: name of the file in which the program leaves a value, encoded; ``None`` for none.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes]
    environment: Mapping[str, str] = field(default_factory=dict)
    result: str | None = None


@dataclass(frozen=True)
class Ending:
    """The end of a program.

    Attributes:
        exit_code: of the program; the negative number of the signal that killed it.
        result: encoded value that it left, ``None`` for none.
        output: what it printed, both streams in the order of writing; first and last half if long.
        model_error: the last exception of the host's model, ``None`` for none.
    """

    exit_code: int
    result: bytes | None
    output: str
    model_error: BaseException | None


def carry_out(
    stream: ByteStream,
    token: str,
    job: Job,
    deadline: Deadline,
    *,
    model: Any = None,
    model_arguments: frozenset[str] = frozenset(),
    model_limits: ModelLimits | None = None,
    running_calls: RunningCalls | None = None,
    on_output: Callable[[str], None] | None = None,
    max_print_outputs_length: int,
    is_closed: Callable[[], bool] = lambda: False,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Ending:
    """Run a program to its end; closes the stream, which ends what is left of it.

    Args:
        stream: to a supervisor that has no other run.
        token: of the sandbox.
        job: what to run.
        deadline: of the program.
        model: the host's model that the program may call, ``None`` for none.
        model_arguments: further arguments of its calls that the program may give.
        model_limits: of its calls; ``None`` for the usual ones.
        running_calls: calls of the model of all programs of the sandbox.
        on_output: gets printed text as it comes.
        max_print_outputs_length: characters of output to keep, first and last half.
        is_closed: whether the sandbox has been given up meanwhile.
        is_interrupted: whether the program is to end.

    Raises:
        AgentProgramError: the program was interrupted, or called the model beyond its limits.
        SandboxTimeoutError: the deadline passed; carries the output until then.
        ConnectionLost: the stream ended before the program did.
        ProtocolError: the sandbox sent what the protocol does not allow.
    """
    output = _Output(on_output, max_print_outputs_length)
    model_limits = model_limits or ModelLimits()
    stream.setblocking(False)
    outbox = Outbox(stream)
    service = ModelService(
        model,
        lambda number, body: outbox.put(Kind.REPLY, number, body),
        allowed_arguments=model_arguments,
        max_bytes=DEFAULT_MAX_BYTES,
        limits=model_limits,
        running=running_calls,
    )
    result: bytes | None = None

    def check() -> None:
        if deadline.expired():
            text = f"the program ran past timeout_seconds={deadline.seconds}; {_KEPT}"
            raise SandboxTimeoutError(text + output.end()[-_SHOWN:])
        if is_interrupted():
            text, printed = f"the program was interrupted; {_KEPT}", output.end()
            raise AgentProgramError(text + printed[-_SHOWN:], -signal.SIGKILL, printed)
        if is_closed():
            raise ConnectionLost("the sandbox was closed")
        if outbox.stalled_seconds > _STALLED_SECONDS:
            raise ConnectionLost(f"the sandbox has read nothing for {_STALLED_SECONDS:.0f} s")

    try:
        body = encode(
            {
                "argv": list(job.argv),
                "files": dict(job.files),
                "environment": dict(job.environment),
                "model": model is not None,
                "result": job.result,
            },
            path="job",
        )
        outbox.put(Kind.TOKEN, 0, token.encode())
        outbox.put(Kind.RUN, 0, body)
        buffer = FrameBuffer(from_supervisor(DEFAULT_MAX_BYTES, model_limits.request_bytes))
        while True:
            check()
            for frame in buffer.feed(_exchange(stream, outbox, deadline)):
                if frame.kind is Kind.OUTPUT:
                    output.add(frame.body)
                elif frame.kind is Kind.CALL:
                    service.begin(frame.number, frame.body)
                elif frame.kind is Kind.CANCEL:
                    service.cancel(frame.number)
                elif frame.kind is Kind.RESULT:
                    result = frame.body
                else:
                    exit_code = _exit_code(frame.body)
                    return Ending(exit_code, result, output.end(), service.last_error)
                check()
    except (FrameTooLongError, TooManyCallsError) as error:
        reason = str(error)
        if isinstance(error, FrameTooLongError):
            if error.kind is not Kind.CALL:
                raise
            most = model_limits.request_bytes
            reason = f"{error.length} bytes of messages, over max_model_bytes={most}"
        text, printed = (
            f"the program called the model on the host with {reason}; {_KEPT}",
            output.end(),
        )
        raise AgentProgramError(text + printed[-_SHOWN:], -signal.SIGKILL, printed) from None
    finally:
        service.close()
        outbox.close()
        stream.close()


def _exchange(stream: ByteStream, outbox: Outbox, deadline: Deadline) -> bytes:
    """Send what can be sent now and return what has arrived; wait a second for either."""
    try:
        outbox.send()
        data = stream.recv(_READ_BYTES)
    except BlockingIOError:
        _wait(stream, outbox, deadline.at_most(_WAIT_SECONDS))
        return b""
    except OSError as error:
        raise ConnectionLost(str(error)) from error
    if not data:
        raise ConnectionLost("the stream to the sandbox ended")
    return data


def _exit_code(body: bytes) -> int:
    try:
        end = decode(body, path="the end of a program")
    except DecodeError as error:
        raise ProtocolError(f"the sandbox sent no exit code: {error}") from error
    code = end.get("exit_code") if type(end) is dict else None
    if type(code) is not int or code not in _EXIT_CODES:
        raise ProtocolError("the sandbox sent something else than an exit code")
    return code


class _Output:
    """Printed text of both streams, in the order of its writing."""

    def __init__(self, on_output: Callable[[str], None] | None, max_length: int) -> None:
        self._on_output = OutputCallback(on_output)
        self._kept = PrintContainer(max_length)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes, *, final: bool = False) -> None:
        """Take in what the program has printed."""
        text = self._decoder.decode(data, final)
        if text:
            self._kept.append(text)
            self._on_output(text)

    def end(self) -> str:
        """Return everything kept; a character that was cut off becomes a replacement mark."""
        self.add(b"", final=True)
        return self._kept.text() + self._on_output.note()


def _wait(stream: ByteStream, outbox: Outbox, seconds: float) -> None:
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLIN | (select.POLLOUT if outbox.waiting else 0))
    poll.register(outbox.fileno(), select.POLLIN)
    with contextlib.suppress(InterruptedError):
        poll.poll(seconds * 1000 + 1)

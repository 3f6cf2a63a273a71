"""One guest at a time: start, runs, replacement. Knows nothing of smolagents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...bridge import Dispatcher
from ...codec import Variables, decode, decode_variables, encode
from ...codec.attachments import join_messages
from ...deadline import Deadline
from ...errors import (
    ConfigurationError,
    DecodeError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    InterpreterError,
    ProgramInterruptedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...guest.body_memory import BODIES
from ...guest.frames import Body, Frame, Kind, Part, body_size
from ...guest.guest_process import GuestProcess
from ..call_times import recorded
from .guest_answers import copied, failure
from .guest_options import GuestOptions
from .guest_run import LOST, SLICE, GuestRun, Outcome

__all__ = ["GuestSession", "Launcher"]

# Nodes that may be lost one after the other while a child starts.
_MOST_STARTS = 3
#: About a child that did not end by itself. Before a node is lost, its processes may be killed.
_UNKNOWN = "; the code may have run, in part or to its end"
_UNKNOWN_CAUSES = frozenset({"node", "signal"})


class Launcher(Protocol):
    """Starts the guests of one executor."""

    def start(self) -> GuestProcess:
        """Start a guest, which waits for its SETUP frame."""

    def setup(self) -> dict[str, Any]:
        """The content of the SETUP frame."""

    def accept(self, report: Any) -> None:
        """Check the content of the READY frame.

        Raises:
            ExecutorStartError: what the guest says is not enough.
            ProtocolError: it is not a report.
        """

    def remove(self) -> None:
        """Remove what guests leave on the disk. Idempotent."""


class GuestSession:
    """A guest, and what a new one must be told.

    Args:
        options: limits and callbacks.
        launcher: starts guests.
        dispatcher: serves the calls of the bridge.
        sink: takes printed text, as it comes.
        show: takes the MIME bundle of each display, unchecked.
        prepare: sends files to each new guest; called with a function such as :meth:`ask_file`.
    """

    def __init__(
        self,
        options: GuestOptions,
        launcher: Launcher,
        dispatcher: Dispatcher,
        sink: Callable[[str], None],
        show: Callable[[Any], None],
        prepare: Callable[[Callable[[bytes], bytes]], None],
    ) -> None:
        self._prepare = prepare
        self.options = options
        self._launcher = launcher
        self._dispatcher = dispatcher
        self._sink = sink
        self._show = show
        self._child: GuestProcess | None = None
        self._tools: list[dict[str, Any]] = []
        self._variables: dict[str, Sequence[Part]] = {}
        self._run = 0
        self._interrupted = threading.Event()
        # Guards the state of the run that interrupt() reads from other threads. Reentrant: the
        # handler of a signal may interrupt while its own thread has the lock.
        self._state = threading.RLock()
        self._running = False
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False

    # -- the child --

    def open(self) -> None:
        """Start a child and check its measures.

        Raises:
            ExecutorStartError: it did not start, or a required measure is missing.
            ExecutorClosedError: :meth:`close` was called meanwhile.
        """
        try:
            self._open_somewhere()
            # After the child was stored: close() sets the mark before it reads the child.
            if self._closing:
                raise ExecutorClosedError("the executor has been closed")
        except BaseException as error:
            self._drop()
            if self._closing:
                self._launcher.remove()
                if isinstance(error, Exception):
                    raise ExecutorClosedError(
                        "the executor was closed while its child started"
                    ) from error
            if isinstance(error, (SandboxDiedError, ProtocolError, DecodeError)):
                raise ExecutorStartError(f"the child did not start: {error}") from None
            raise

    def _open_somewhere(self) -> None:
        """Open a child; another one if the node of the first is lost, for no program has run."""
        for _ in range(_MOST_STARTS - 1):
            try:
                self._open()
            except SandboxDiedError as error:
                if error.cause != "node" or self._closing:
                    raise
                self._drop()
            else:
                return
        self._open()

    def _open(self) -> None:
        self._child = child = self._launcher.start()
        deadline = Deadline(self.options.startup_timeout_seconds)
        child.send(Kind.SETUP, 0, encode(self._launcher.setup()), deadline)
        frame = self._answer(Kind.READY, 0, deadline, "start")
        self._launcher.accept(decode(frame.body, path="report"))
        self._dispatcher.connected()
        if self._tools:
            self._exchange(child, Kind.TOOLS, encode(self._tools), "send_tools")
        if self._variables:
            body = join_messages(self._variables.values())
            self._exchange(child, Kind.VARIABLES, body, "send_variables")
        self._prepare(lambda body: self._ask_file(child, body))

    def close(self, *, from_inside: bool = False) -> None:
        """Kill the child and remove its folder. Idempotent; a run in another thread ends first.

        Args:
            from_inside: whether a tool or a callback of the run calls: then the run cleans up.
        """
        self._closing = True
        child = self._child
        if self._running and child is not None:
            child.kill()
            if from_inside:
                return
            self._dispatcher.interrupt()
            self._idle.wait(5.0)
        self._drop()
        self._launcher.remove()

    @property
    def pid(self) -> int | None:
        """Process id of the child; ``None`` without a child."""
        return None if self._child is None else self._child.pid

    @property
    def alive(self) -> bool:
        """Tell whether there is a child that is not known to be dead."""
        return self._child is not None and not self._child.ended

    def restart(self) -> None:
        """Kill the child and start another, which gets tools and sent variables again."""
        self._drop()
        self.open()

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def interrupt(self) -> None:
        """Interrupt the running code; no-op when idle. From any thread."""
        # Under the lock: an interrupt that is sent after the run would stop the next one.
        with self._state:
            if not self._running:
                return
            self._interrupted.set()
            stop_tool = self._dispatcher.give_up()
        stop_tool()

    # -- tools and variables --

    def send_tools(self, specs: list[dict[str, Any]]) -> None:
        """Make stubs for ``specs``; they replace those sent before."""
        self._tools = specs
        self._put(Kind.TOOLS, encode(specs), "send_tools")

    def send_variables(self, encoded: Mapping[str, Sequence[Part]]) -> None:
        """Set variables by one request, all or none; copies are kept for the next child."""
        kept: dict[str, Sequence[Part]] = {}

        def keep() -> None:
            kept.update({name: copied(parts) for name, parts in encoded.items()})

        try:
            # Copied while the child reads.
            body = join_messages(encoded.values())
            self._put(Kind.VARIABLES, body, "send_variables", meanwhile=keep)
        except SandboxDiedError:
            keep()
            self._remember(kept)
            raise
        self._remember(kept)

    def _remember(self, kept: Mapping[str, Sequence[Part]]) -> None:
        for name, parts in kept.items():
            replaced = self._variables.get(name, ())
            self._variables[name] = parts
            for part in replaced:
                BODIES.give(part)

    def ask_file(self, body: bytes) -> bytes:
        """Have the worker carry out a request for a file; between runs only.

        Args:
            body: of the FILE frame.

        Raises:
            ExecutorError: the guest refused, or ended.
        """
        child = self._ready_child()
        try:
            return self._ask_file(child, body)
        except (SandboxDiedError, ProtocolError) as error:
            self._drop()
            raise error.reworded(f"{error}{LOST}") from None

    def _ask_file(self, child: GuestProcess, body: bytes) -> bytes:
        deadline = Deadline(30.0 + len(body) / 1e6)
        child.send(Kind.FILE, self._run, body, deadline)
        return bytes(self._answer(Kind.CONTENT, self._run, deadline, "files").body)

    def variables(self) -> Variables:
        """Return the variables of the program, as far as they can be encoded.

        Raises:
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        limit = self.options.max_value_bytes
        body = self._put(Kind.READ_STATE, b"", "variables", limit)
        return decode_variables(body, limit)

    def _put(
        self,
        kind: Kind,
        body: Body,
        action: str,
        answer_bytes: int = 0,
        *,
        meanwhile: Callable[[], None] | None = None,
    ) -> bytes | bytearray:
        child = self._ready_child()
        try:
            return self._exchange(child, kind, body, action, answer_bytes, meanwhile)
        except (SandboxDiedError, ProtocolError) as error:
            self._drop()
            raise error.reworded(f"{action}: {error}{LOST}") from None

    def _exchange(
        self,
        child: GuestProcess,
        kind: Kind,
        body: Body,
        action: str,
        answer_bytes: int = 0,
        meanwhile: Callable[[], None] | None = None,
    ) -> bytes | bytearray:
        # One second per megabyte is enough even on a busy machine.
        deadline = Deadline(30.0 + (body_size(body) + answer_bytes) / 1e6)
        child.send(kind, self._run, body, deadline)
        expected = Kind.STATE if kind is Kind.READ_STATE else Kind.ACCEPTED
        try:
            if meanwhile is not None:
                meanwhile()
        finally:  # the next request must not find this answer
            answer = self._answer(expected, self._run, deadline, action)
        return answer.body

    def _ready_child(self) -> GuestProcess:
        """Return the child; start one if there is none.

        Raises:
            SandboxDiedError: the child has ended since the last call; there is none any more.
        """
        if self._child is None:
            self.open()
        elif self._child.ended:
            # Once, or the user would not learn that the state is lost.
            death = self._child.death()
            self._drop()
            raise death.reworded(f"between two calls, {death}{LOST}")
        assert self._child is not None
        return self._child

    def _answer(self, kind: Kind, run: int, deadline: Deadline, action: str) -> Frame:
        """Receive the frame that answers a request outside of runs."""
        assert self._child is not None
        while True:
            frame = self._child.receive(deadline.at_most(SLICE))
            if frame is None:
                if deadline.expired():
                    raise ProtocolError(f"{action}: no answer within {deadline.seconds} s")
            elif frame.kind is Kind.OUTPUT:
                self._sink(self._child.text_of(frame))
            elif frame.kind is Kind.DISPLAY:
                continue  # a thread of the last run was late
            elif frame.run == run and frame.kind is kind:
                return frame
            elif frame.run == run and frame.kind is Kind.FAILED:
                message = failure(frame.body)[1]
                if kind is Kind.CONTENT:
                    raise ExecutorError(message)
                raise ConfigurationError(f"{action}: {message}")
            else:
                raise ProtocolError(f"{action}: a {frame.kind.name} frame instead of an answer")

    # -- runs --

    def run(self, code: str) -> Outcome:
        """Run ``code``.

        Raises:
            InterpreterError: the program was refused, failed, or met a limit of the interpreter.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        self._dispatcher.begin_run()
        with self._state:
            if self._interrupted.is_set():
                self._interrupted.clear()
            self._running = True
            self._idle.clear()
        try:
            return self._watched(self._ready_child(), code)
        finally:
            self._dispatcher.end_run("end")
            with self._state:
                self._running = False
            self._idle.set()
            if self._closing:
                self._drop()
                self._launcher.remove()

    def _watched(self, child: GuestProcess, code: str) -> Outcome:
        if self._interrupted.is_set():
            raise ProgramInterruptedError("the code was interrupted by interrupt() before it began")
        self._run += 1
        deadline = Deadline(self.options.timeout_seconds)
        current = GuestRun(
            child,
            self._run,
            self.options,
            self._dispatcher,
            self._sink,
            self._show,
            self._interrupted,
        )
        try:
            with recorded(child):
                return current.watched(code, deadline)
        except (SandboxDiedError, ProtocolError) as error:
            child.kill()
            child.death()
            self._sink(child.remaining_text())
            self._drop()
            if self._dispatcher.has_final_answer:
                return Outcome(self._dispatcher.final_answer, True, deadline.elapsed())
            if self._closing:
                raise ExecutorClosedError("the code was ended by cleanup()") from None
            unknown = isinstance(error, SandboxDiedError) and error.cause in _UNKNOWN_CAUSES
            raise error.reworded(f"{error}{_UNKNOWN if unknown else ''}{LOST}") from None
        except (SandboxTimeoutError, InterpreterError, DecodeError):
            if current.killed:
                self._drop()
            if self._closing:
                # The child may report the cancelled tool before the kill takes effect.
                raise ExecutorClosedError("the code was ended by cleanup()") from None
            raise
        except BaseException:
            # Ctrl-C, or a callback that raised: the program must not run without a reader.
            if not current.abandon():
                self._drop()
            raise

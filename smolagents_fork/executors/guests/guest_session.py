"""One guest at a time: start, runs, replacement. Knows nothing of smolagents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...bridge import Dispatcher
from ...codec import decode, encode
from ...deadline import Deadline
from ...errors import (
    ConfigurationError,
    DecodeError,
    ExecutorClosedError,
    ExecutorStartError,
    InterpreterError,
    ProgramInterruptedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...guest.frames import Frame, Kind
from ...guest.guest_process import GuestProcess
from .guest_answers import failure, joined
from .guest_options import GuestOptions
from .guest_run import LOST, SLICE, GuestRun, Outcome

__all__ = ["GuestSession", "Launcher"]


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
    """

    def __init__(
        self,
        options: GuestOptions,
        launcher: Launcher,
        dispatcher: Dispatcher,
        sink: Callable[[str], None],
    ) -> None:
        self.options = options
        self._launcher = launcher
        self._dispatcher = dispatcher
        self._sink = sink
        self._child: GuestProcess | None = None
        self._tools: list[dict[str, Any]] = []
        self._variables: dict[str, bytes] = {}
        self._run = 0
        self._interrupted = threading.Event()
        # What interrupt(), which comes from other threads, has to know of the run.
        self._state = threading.RLock()  # a signal's handler may interrupt, wherever it comes
        self._running = False
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False

    # -- the child --

    def open(self) -> None:
        """Start a child and see what is in force.

        Raises:
            ExecutorStartError: no child, or a measure is missing that may not be.
            ExecutorClosedError: it was closed meanwhile.
        """
        try:
            self._open()
            # After the child was made known: whoever closes sets the mark first, and looks for a
            # child then.
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
                raise ExecutorStartError(f"the child did not start: {error}") from error
            raise

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
            variables = joined(self._variables)
            self._exchange(child, Kind.VARIABLES, variables, "send_variables")

    def close(self, *, from_inside: bool = False) -> None:
        """Kill the child and remove its folder. Idempotent; a run in another thread ends first.

        Args:
            from_inside: a tool or a callback of the run asks: the run cleans up when it ends.
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
        """The child's process number; ``None`` without a child."""
        return None if self._child is None else self._child.pid

    @property
    def alive(self) -> bool:
        """Tell whether there is a child that is not known to be dead."""
        return self._child is not None and not self._child.ended

    def restart(self) -> None:
        """Kill the child and start another; tools and sent variables are given to it again."""
        self._drop()
        self.open()

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def interrupt(self) -> None:
        """Stop what runs now; from any thread. Nothing runs: nothing happens."""
        # All of it within the run: a moment later, it would be half of an interruption of the next.
        with self._state:
            if not self._running:
                return
            self._interrupted.set()
            stop_tool = self._dispatcher.give_up()
        stop_tool()

    # -- tools and variables --

    def send_tools(self, specs: list[dict[str, Any]]) -> None:
        """Make stubs for all of ``specs``; they replace those sent before."""
        self._tools = specs
        self._put(Kind.TOOLS, encode(specs), "send_tools")

    def send_variables(self, encoded: Mapping[str, bytes]) -> None:
        """Set variables, each encoded by itself."""
        self._put(Kind.VARIABLES, joined(encoded), "send_variables")
        self._variables.update(encoded)

    def _put(self, kind: Kind, body: bytes, what: str) -> None:
        child = self._ready_child()
        try:
            self._exchange(child, kind, body, what)
        except (SandboxDiedError, ProtocolError) as error:
            self._drop()
            raise type(error)(f"{what}: {error}{LOST}") from error

    def _exchange(self, child: GuestProcess, kind: Kind, body: bytes, what: str) -> None:
        # A second a megabyte is slow even for a busy machine.
        deadline = Deadline(30.0 + len(body) / 1e6)
        child.send(kind, self._run, body, deadline)
        self._answer(Kind.ACCEPTED, self._run, deadline, what)

    def _ready_child(self) -> GuestProcess:
        if self._child is None or self._child.ended:
            self._drop()
            self.open()
        assert self._child is not None
        return self._child

    def _answer(self, kind: Kind, run: int, deadline: Deadline, what: str) -> Frame:
        """The frame that answers a request outside runs."""
        assert self._child is not None
        while True:
            frame = self._child.receive(deadline.at_most(SLICE))
            if frame is None:
                if deadline.expired():
                    raise ProtocolError(f"{what}: no answer within {deadline.seconds} s")
            elif frame.kind is Kind.OUTPUT:
                self._sink(self._child.text_of(frame))
            elif frame.run == run and frame.kind is kind:
                return frame
            elif frame.run == run and frame.kind is Kind.FAILED:
                raise ConfigurationError(f"{what}: {failure(frame.body)[1]}")
            else:
                raise ProtocolError(f"{what}: a {frame.kind.name} frame instead of an answer")

    # -- runs --

    def run(self, code: str) -> Outcome:
        """Run ``code``.

        Raises:
            InterpreterError: the program was refused, failed, or met a limit of the interpreter.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child sent what it may not.
        """
        self._dispatcher.begin_run()
        with self._state:
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
            child, self._run, self.options, self._dispatcher, self._sink, self._interrupted
        )
        try:
            return current.watched(code, deadline)
        except (SandboxDiedError, ProtocolError) as error:
            child.kill()
            child.death()
            self._sink(child.remaining_text())
            self._drop()
            if self._dispatcher.has_final_answer:
                return Outcome(self._dispatcher.final_answer, True, deadline.elapsed())
            if self._closing:
                raise ExecutorClosedError("the code was ended by cleanup()") from error
            raise type(error)(f"{error}{LOST}") from error
        except (SandboxTimeoutError, InterpreterError, DecodeError) as error:
            if current.killed:
                self._drop()
            if self._closing:
                # The kill takes another process, and the code may be told first that its tool was
                # given up on.
                raise ExecutorClosedError("the code was ended by cleanup()") from error
            raise
        except BaseException:
            # Ctrl-C, or a callback that raised: the program must not go on unwatched.
            if not current.abandon():
                self._drop()
            raise

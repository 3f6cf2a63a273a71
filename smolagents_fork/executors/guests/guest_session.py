"""One guest at a time: start, runs, replacement. Knows nothing of smolagents."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ...bridge import Dispatcher
from ...codec import Variables, decode, decode_variables, encode
from ...codec.attachments import join_messages
from ...deadline import Deadline
from ...errors import (
    DecodeError,
    ExecutorClosedError,
    ExecutorStartError,
    InterpreterError,
    ProgramInterruptedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...guest.body_memory import BODIES
from ...guest.frames import Body, Kind, Part, body_size
from ...guest.guest_process import GuestProcess
from ..call_times import recorded
from .conversation import Answer, converse
from .guest_answers import copied
from .guest_options import GuestOptions
from .guest_run import LOST, GuestRun, RunOutcome

__all__ = ["GuestSession", "Launcher"]

# Nodes that may be lost one after the other while a child starts.
_MOST_STARTS = 3
# Beginning of the numbers of requests; runs have the numbers below.
_REQUESTS = 1 << 31
#: About a child that did not end by itself. Before a node is lost, its processes may be killed.
_UNKNOWN = "; the code may have run, in part or to its end"
_UNKNOWN_CAUSES = frozenset({"node", "signal"})


class Launcher(Protocol):
    """Starts the guests of one executor."""

    def start(self) -> GuestProcess:
        """Start a guest, which waits for its SETUP frame."""

    def setup(self) -> dict[str, Any]:
        """Return the content of the SETUP frame."""

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
        show: takes the frame of each display, encoded.
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
        # Number of the last request outside of runs, and those left without an answer.
        self._asked = _REQUESTS
        self._left: set[int] = set()
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
        setup = encode(self._launcher.setup())
        report = self._ask(child, Kind.SETUP, setup, Kind.READY, "start", deadline=deadline)
        self._launcher.accept(decode(report, path="report"))
        self._dispatcher.connected()
        if self._tools:
            self._ask(child, Kind.TOOLS, encode(self._tools), Kind.ACCEPTED, "send_tools")
        if self._variables:
            body = join_messages(self._variables.values())
            self._ask(child, Kind.VARIABLES, body, Kind.ACCEPTED, "send_variables")
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
        self._left.clear()
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
        self._request(Kind.TOOLS, encode(specs), Kind.ACCEPTED, "send_tools")

    def send_variables(self, encoded: Mapping[str, Sequence[Part]]) -> None:
        """Set variables by one request, all or none; copies are kept for the next child."""
        kept: dict[str, Sequence[Part]] = {}

        def keep() -> None:
            kept.update({name: copied(parts) for name, parts in encoded.items()})

        try:
            # Copied while the child reads.
            body = join_messages(encoded.values())
            self._request(Kind.VARIABLES, body, Kind.ACCEPTED, "send_variables", meanwhile=keep)
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
        return bytes(self._request(Kind.FILE, body, Kind.CONTENT, "files"))

    def _ask_file(self, child: GuestProcess, body: bytes) -> bytes:
        return bytes(self._ask(child, Kind.FILE, body, Kind.CONTENT, "files"))

    def variables(self) -> Variables:
        """Return the variables of the program, as far as they can be encoded.

        Raises:
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        limit = self.options.max_value_bytes
        body = self._request(Kind.READ_STATE, b"", Kind.STATE, "variables", answer_bytes=limit)
        return decode_variables(body, limit)

    def _request(
        self,
        kind: Kind,
        body: Body,
        expected: Kind,
        action: str,
        *,
        answer_bytes: int = 0,
        meanwhile: Callable[[], None] | None = None,
    ) -> bytes | bytearray:
        """Ask the child, started if necessary, between two runs; see :meth:`_ask`."""
        with self._busy():
            child = self._ready_child()
            try:
                return self._ask(
                    child,
                    kind,
                    body,
                    expected,
                    action,
                    answer_bytes=answer_bytes,
                    meanwhile=meanwhile,
                )
            except (SandboxDiedError, ProtocolError) as error:
                self._drop()
                if self._closing:
                    raise ExecutorClosedError(f"{action} was ended by cleanup()") from None
                raise error.reworded(f"{action}: {error}{LOST}") from None
            except BaseException:
                if child.broken:  # Ctrl-C in the middle of a frame
                    self._drop()
                raise

    def _ask(
        self,
        child: GuestProcess,
        kind: Kind,
        body: Body,
        expected: Kind,
        action: str,
        *,
        deadline: Deadline | None = None,
        answer_bytes: int = 0,
        meanwhile: Callable[[], None] | None = None,
    ) -> bytes | bytearray:
        """Send a request and return the body of its answer.

        Without a ``deadline``, it has one by its size and the ``answer_bytes`` that it may get.

        Raises:
            SandboxDiedError: the child ended; says how.
            ProtocolError: it did not read or answer in time, or answered what it may not.
            ExecutorError: it refused.
        """
        size = body_size(body)
        # One second per megabyte is enough even on a busy machine.
        deadline = deadline or Deadline(30.0 + (size + answer_bytes) / 1e6)
        number = 0
        if kind is not Kind.SETUP:
            # The answer to a request that was left must not count as that to the next.
            self._asked = number = _REQUESTS | (self._asked + 1)
        child.put(kind, number, body)
        self._left.add(number)
        answer = Answer(
            child,
            expected,
            number,
            self._left,
            deadline,
            action,
            size,
            self._interrupted,
            self.options.interrupt_grace_seconds,
            meanwhile,
        )
        return converse(child, answer, self._sink).body

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """Let :meth:`interrupt` and :meth:`close` end what the block does."""
        with self._state:
            self._running = True
            self._idle.clear()
        try:
            yield
        finally:
            with self._state:
                self._running = False
                self._interrupted.clear()
            self._idle.set()
            if self._closing:
                self._drop()
                self._launcher.remove()

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

    # -- runs --

    def run(self, code: str) -> RunOutcome:
        """Run ``code``.

        Raises:
            InterpreterError: the program failed, is not Python, or imports what is not listed.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        self._dispatcher.begin_run()
        with self._busy():
            try:
                return self._watched(self._ready_child(), code)
            finally:
                self._dispatcher.end_run("end")

    def _watched(self, child: GuestProcess, code: str) -> RunOutcome:
        if self._interrupted.is_set():
            raise ProgramInterruptedError("the code was interrupted by interrupt() before it began")
        self._run += 1
        deadline = Deadline(self.options.timeout_seconds)
        current = GuestRun(
            child,
            self._run,
            self.options,
            self._dispatcher,
            self._show,
            self._interrupted,
            self._left,
            deadline,
        )
        try:
            with recorded(child):
                return current.watched(code, self._sink)
        except (SandboxDiedError, ProtocolError) as error:
            child.kill()
            child.death()
            self._sink(child.remaining_text())
            self._drop()
            if self._dispatcher.has_final_answer:
                return RunOutcome(self._dispatcher.final_answer, True, deadline.elapsed())
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

"""One child at a time: start, runs, replacement. Knows nothing of smolagents."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..bridge import Dispatcher
from ..codec import decode, encode
from ..errors import (
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
from ..limits import Deadline
from ..process.child import Child
from ..process.folders import remove_tree
from ..process.frames import Frame, Kind, from_child
from ..process.layout import Layout
from ..process.spawn import spawn
from .process_answers import checked_report, failure, joined, program_error
from .process_options import Options

__all__ = ["Outcome", "ProcessSession"]

#: Longest wait between two looks at deadlines and interruptions, in seconds.
_SLICE = 0.05
# How long a program that has given its final answer may go on before it is stopped.
_AFTER_ANSWER = 0.1
_BROKEN_OFF = "the call was broken off on the host"
_LOST = "; its state is lost, the next call starts in a new process"


@dataclass(frozen=True)
class Outcome:
    """What a run gave, and the time it had without the host's own."""

    output: Any
    is_final_answer: bool
    seconds: float


class _Stop:
    """Why a run is being stopped, and until when it may do so by itself."""

    def __init__(self, reason: str, grace: float) -> None:
        self.reason = reason  # "timeout", "interrupt" or "answer"
        self.deadline = Deadline(grace)


class ProcessSession:
    """A child, its folder, and what a new one must be told.

    Args:
        options: limits and callbacks.
        layout: where the child finds modules.
        imports: modules programs may import.
        dispatcher: serves the calls of the bridge.
        sink: takes printed text, as it comes.
    """

    def __init__(
        self,
        options: Options,
        layout: Layout,
        imports: list[str],
        dispatcher: Dispatcher,
        sink: Callable[[str], None],
    ) -> None:
        self.options = options
        self.report: dict[str, dict[str, str]] = {"in_force": {}, "missing": {}}
        self._layout = layout
        self._imports = imports
        self._dispatcher = dispatcher
        self._sink = sink
        self._folder: str | None = None
        self._child: Child | None = None
        self._tools: list[dict[str, Any]] = []
        self._variables: dict[str, bytes] = {}
        self._run = 0
        self._interrupted = threading.Event()
        self._running = False
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False

    # -- the child --

    def open(self) -> None:
        """Start a child and see what is in force.

        Raises:
            ExecutorStartError: no child, or a measure that ``require`` names is missing.
        """
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="smolagents-process-")
        options = self.options
        bounds = {
            "folder": self._folder,
            "memory_bytes": options.memory_bytes,
            "file_bytes": options.file_bytes,
            "open_files": options.open_files,
            "network": options.network,
        }
        kinds = from_child(options.max_value_bytes, options.max_value_bytes)
        self._child = child = spawn(self._layout, bounds, kinds)
        setup = {
            "imports": self._imports,
            "limits": options.limits,
            "data_files": options.data_files,
            "cpu_seconds": self._cpu_seconds(),
        }
        try:
            deadline = Deadline(options.startup_timeout_seconds)
            child.send(Kind.SETUP, 0, encode(setup), deadline)
            frame = self._answer(Kind.READY, 0, deadline, "start")
            self.report = checked_report(decode(frame.body, path="report"))
            missing = sorted(options.required & self.report["missing"].keys())
            if missing:
                reasons = "; ".join(f"{name}: {self.report['missing'][name]}" for name in missing)
                raise ExecutorStartError(f"require={missing}, and this is not in force: {reasons}")
            self._dispatcher.connected()
            if self._tools:
                self._exchange(child, Kind.TOOLS, encode(self._tools), "send_tools")
            if self._variables:
                variables = joined(self._variables)
                self._exchange(child, Kind.VARIABLES, variables, "send_variables")
        except BaseException as error:
            self._drop()
            if isinstance(error, (SandboxDiedError, ProtocolError, DecodeError)):
                raise ExecutorStartError(f"the child did not start: {error}") from error
            raise

    def _cpu_seconds(self) -> float | None:
        options = self.options
        if options.cpu_seconds is not None or options.timeout_seconds is None:
            return options.cpu_seconds
        # More than one thread can use more than the wall clock's time, but not without end.
        return 2 * (options.timeout_seconds + options.interrupt_grace_seconds)

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
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            remove_tree(self._folder)
            self._folder = None

    @property
    def pid(self) -> int | None:
        """The child's process number; ``None`` without a child."""
        return None if self._child is None else self._child.pid

    @property
    def folder(self) -> str | None:
        """The only folder the child may write to."""
        return self._folder

    @property
    def alive(self) -> bool:
        """Whether there is a child and it is not known to be dead."""
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
        if self._running:
            self._interrupted.set()
            self._dispatcher.interrupt()

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
            raise type(error)(f"{what}: {error}{_LOST}") from error

    def _exchange(self, child: Child, kind: Kind, body: bytes, what: str) -> None:
        # A second a megabyte is slow even for a busy machine.
        deadline = Deadline(30.0 + len(body) / 1e6)
        child.send(kind, self._run, body, deadline)
        self._answer(Kind.ACCEPTED, self._run, deadline, what)

    def _ready_child(self) -> Child:
        if self._child is None or self._child.ended:
            self._drop()
            self.open()
        assert self._child is not None
        return self._child

    def _answer(self, kind: Kind, run: int, deadline: Deadline, what: str) -> Frame:
        """The frame that answers a request outside runs."""
        assert self._child is not None
        while True:
            frame = self._child.receive(deadline.at_most(_SLICE))
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
        child = self._ready_child()
        self._run += 1
        self._dispatcher.begin_run()
        self._interrupted.clear()
        self._running = True
        self._idle.clear()
        deadline = Deadline(self.options.timeout_seconds)
        try:
            return self._watched(child, code, deadline)
        except (SandboxDiedError, ProtocolError) as error:
            child.kill()
            child.death()
            self._sink(child.last_words())
            self._drop()
            if self._dispatcher.has_final_answer:
                return Outcome(self._dispatcher.final_answer, True, deadline.elapsed())
            if self._closing:
                raise ExecutorClosedError("the code was ended by cleanup()") from error
            raise type(error)(f"{error}{_LOST}") from error
        except (SandboxTimeoutError, InterpreterError, DecodeError):
            raise
        except BaseException:
            # Ctrl-C, or a callback that raised: the program must not go on unwatched.
            self._abandon(child)
            raise
        finally:
            self._running = False
            self._idle.set()
            if self._closing:
                self._drop()
                self._remove_folder()

    def _watched(self, child: Child, code: str, deadline: Deadline) -> Outcome:
        text = code.encode("utf-8", "surrogatepass")
        child.send(Kind.RUN, self._run, text, Deadline(30.0 + len(text) / 1e6))
        stop: _Stop | None = None
        while True:
            if stop is None:
                stop = self._reason_to_stop(child, deadline)
            elif stop.deadline.expired():
                if stop.reason == "answer":
                    stop = _Stop("answered", self.options.interrupt_grace_seconds)
                    child.interrupt()
                    continue
                raise self._killed(child, stop)
            wait = deadline.at_most(_SLICE) if stop is None else stop.deadline.at_most(_SLICE)
            frame = child.receive(wait)
            if frame is None:
                self._sink(child.text_in_log())
                if stop is not None and stop.reason != "answer":
                    child.interrupt()  # again: the first may have come before the program began
                continue
            if frame.run != self._run and frame.kind is not Kind.OUTPUT:
                raise ProtocolError(f"a {frame.kind.name} frame of run {frame.run}")
            if frame.kind is Kind.OUTPUT:
                self._sink(child.text_of(frame))
            elif frame.kind is Kind.CALL:
                with (
                    deadline.paused(),
                    stop.deadline.paused() if stop else contextlib.nullcontext(),
                ):
                    reply = self._reply(child, frame)
                child.send(Kind.REPLY, self._run, reply, Deadline(30.0 + len(reply) / 1e6))
                if self._dispatcher.has_final_answer and stop is None:
                    stop = _Stop("answer", _AFTER_ANSWER)
            else:
                return self._outcome(frame, stop, deadline)

    def _reply(self, child: Child, frame: Frame) -> bytes:
        try:
            return self._dispatcher.handle(frame.body)
        except ProtocolError:
            raise
        except BaseException:
            # Ctrl-C in a tool. The program waits for an answer and can only be stopped after one.
            with contextlib.suppress(ExecutorError):
                body = encode({"call": None, "error": ["RuntimeError", [_BROKEN_OFF], _BROKEN_OFF]})
                child.interrupt()
                child.send(Kind.REPLY, self._run, body, Deadline(1.0))
            raise

    def _reason_to_stop(self, child: Child, deadline: Deadline) -> _Stop | None:
        interrupted = self._interrupted.is_set()
        if not interrupted and not deadline.expired():
            return None
        child.interrupt()
        reason = "interrupt" if interrupted else "timeout"
        return _Stop(reason, self.options.interrupt_grace_seconds)

    def _killed(self, child: Child, stop: _Stop) -> ExecutorError:
        child.kill()
        death = child.death()
        if stop.reason == "answered":
            return death
        self._sink(child.last_words())
        self._drop()
        grace = (
            f"did not stop within interrupt_grace_seconds={self.options.interrupt_grace_seconds}"
        )
        if stop.reason == "interrupt":
            return SandboxTimeoutError(f"code was interrupted, {grace} and was killed{_LOST}")
        return SandboxTimeoutError(
            f"code ran past timeout_seconds={self.options.timeout_seconds}, {grace} and was "
            f"killed{_LOST}"
        )

    def _outcome(self, frame: Frame, stop: _Stop | None, deadline: Deadline) -> Outcome:
        if self._dispatcher.has_final_answer:
            # Whatever came of the program afterwards, this is what it was for.
            return Outcome(self._dispatcher.final_answer, True, deadline.elapsed())
        if frame.kind is Kind.DONE:
            value = decode(frame.body, path="output", max_bytes=self.options.max_value_bytes)
            return Outcome(value, False, deadline.elapsed())
        if frame.kind is not Kind.FAILED:
            raise ProtocolError(f"a {frame.kind.name} frame where a run ends")
        kind, message = failure(frame.body)
        if stop is not None and kind == "TimeLimitExceededError":
            if stop.reason == "interrupt":
                raise ProgramInterruptedError(
                    "the code was interrupted by interrupt(); its state is kept"
                )
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={self.options.timeout_seconds}; it was stopped and "
                "its state kept"
            )
        raise program_error(kind)(message)

    def _abandon(self, child: Child) -> None:
        child.interrupt()
        end = Deadline(self.options.interrupt_grace_seconds)
        with contextlib.suppress(ExecutorError):
            while not end.expired():
                frame = child.receive(end.at_most(_SLICE))
                if frame is not None and frame.kind is Kind.OUTPUT:
                    child.text_of(frame)  # nobody wants it any more, but it is counted
                elif frame is not None and frame.run == self._run and frame.kind is not Kind.CALL:
                    return
        self._drop()

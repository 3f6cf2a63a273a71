"""The worker of a guest: receives code, has the engine run it, and sends the result.

It shares its process with the program, so the host does not trust it. Its checks serve programs
that are not hostile.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from ..codec import decode, encode, encode_message, encode_parts, encode_variables
from ..codec.attachments import split_messages
from ..codec.rpc import RUN_ENDED, HostCalls
from ..codec.types.image_values import open_pictures
from ..displays import display_from, text_of
from ..errors import EncodeError, InterpreterError
from ..interpreter.imports import DEFAULT_IMPORTS
from ..interpreter.plain import PlainEngine
from ..interpreter.program_displays import bundle_of
from ..interpreter.stops import FinalAnswer, TimeStop
from ..output import DEFAULT_PRINT_LENGTH, MOST_WITH_TEXT, truncate
from ..text.texts import class_name, encodable, own_text
from . import worker_files
from .frames import (
    READ_BYTES,
    Body,
    Frame,
    FrameReader,
    Kind,
    Part,
    body_size,
    frame_parts,
    from_host,
)
from .program_output import use_program_output

__all__ = ["Link", "Worker", "warm_up"]

# A character takes at most 12 bytes of a frame, and such a frame has 1 MiB at most.
_LONGEST_REPR = 80_000
_STOPPED = "The execution was stopped from outside"


def warm_up() -> None:
    """Run a program once, so that later workers have what it takes imported and compiled."""
    main = sys.modules["__main__"]
    engine = PlainEngine(DEFAULT_IMPORTS, lambda _bundle: None)
    decode(encode(engine.run("import math\n[math.sqrt(n) for n in range(3)]", list)))
    sys.modules["__main__"] = main


class Link:
    """Guest side of the connection to its host; one writer at a time.

    Args:
        read: waits for bytes, and returns at most so many; none at the end of the connection.
        write: writes all of its argument, after the text printed before it.
        stopped_run: returns the number of the last run that the host asked to stop; negative for
            whichever run it is.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        write: Callable[[Part], object],
        stopped_run: Callable[[], int],
    ) -> None:
        self._read = read
        self._write = write
        self._stopped_run = stopped_run
        self._reader = FrameReader(from_host())
        self._lock = threading.RLock()
        #: Number of the current run.
        self.run = 0

    @property
    def stop_asked(self) -> bool:
        """Return whether the host has asked the current run to stop."""
        run = self._stopped_run()
        return run < 0 or run == self.run

    def receive(self) -> Frame | None:
        """Return the next frame; ``None`` if the host has closed the connection."""
        while (frame := self._reader.next()) is None:
            data = self._read(READ_BYTES)
            if not data:
                return None
            self._reader.feed(data)
        return frame

    def send(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Send a frame."""
        with self._lock:
            for part in frame_parts(kind, run, body):
                self._write(part)


class Worker:
    """The engine and its connection to the host.

    Args:
        options: ``imports`` and ``max_value_bytes`` as the host sent them.
    """

    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        self._link = link
        use_program_output()
        self._engine = PlainEngine({*DEFAULT_IMPORTS, *options["imports"]}, self._display)
        # The host ends a child that sends more; a program that is not hostile gets an error first.
        self._max_value_bytes = options["max_value_bytes"]
        self._calls = HostCalls(self._ask_host, self._finish, self._max_value_bytes, self._stop)
        self._in_run = False
        self._shielded = 0

    def serve(self) -> None:
        """Serve the host until it closes the connection."""
        while (frame := self._link.receive()) is not None:
            if frame.kind is Kind.RUN:
                self._run(frame)
            elif frame.kind in (Kind.TOOLS, Kind.VARIABLES):
                self._accept(frame)
            elif frame.kind is Kind.FILE:
                self._exchange_file(frame)
            elif frame.kind is Kind.READ_STATE:
                body = encode_variables(self._engine.variables(), self._max_value_bytes)
                self._link.send(Kind.STATE, frame.run, body)
            # A late REPLY, to a call whose program was stopped meanwhile, is ignored.

    # -- interruption by the host --

    def stop_if_asked(self, _signal: int, frame: types.FrameType | None) -> None:
        """Stop the program if the host has asked its run to stop.

        Handles the signal, which may arrive at any time, even after the end of its run. The host
        repeats it until the run ends.

        Args:
            frame: what was interrupted; only the program's own code is stopped.
        """
        if not self._shielded and self._link.stop_asked and self._engine.is_in_program(frame):
            raise TimeStop(_STOPPED)

    def _stop(self) -> NoReturn:
        """End the program, whose calls the host does not serve any more."""
        if threading.current_thread() is threading.main_thread():
            raise TimeStop(_STOPPED)
        raise SystemExit  # ends the thread

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Defer an interruption until the end of the block."""
        main = threading.current_thread() is threading.main_thread()
        self._shielded += main
        try:
            yield
        finally:
            self._shielded -= main
        if main:
            self.stop_if_asked(0, sys._getframe())

    # -- frames --

    def _run(self, frame: Frame) -> None:
        # Before and after, since a program may set a handler of its own.
        signal.signal(signal.SIGINT, self.stop_if_asked)
        self._link.run = frame.run
        self._in_run = True
        kind, body = self._outcome(frame.body.decode())
        signal.signal(signal.SIGINT, self.stop_if_asked)
        with self._calls.quiet():
            # A thread of the program may wait for the host; it would read the next run's frames.
            self._in_run = False
            self._calls.refuse_threads()
            self._link.send(kind, frame.run, body)

    def _outcome(self, code: str) -> tuple[Kind, Body]:
        if self._link.stop_asked:
            return Kind.FAILED, _failure("TimeLimitExceededError", _STOPPED)
        try:
            return Kind.DONE, self._engine.run(code, self._encode_output)
        except FinalAnswer:
            return Kind.FINAL, b""
        except InterpreterError as error:
            return Kind.FAILED, _failure(type(error).__name__, str(error))
        except MemoryError:
            message = "MemoryError: the memory limit is reached"
            return Kind.FAILED, _failure("ProgramFailedError", message)
        except BaseException as error:
            # Raised while an error was described, which must not end the guest.
            return Kind.FAILED, _failure("ProgramFailedError", class_name(error))

    def _encode_output(self, value: Any) -> Body:
        """Encode the program's value, or its text if it cannot be encoded."""
        body: Body
        try:
            parts = encode_parts(value, max_bytes=self._max_value_bytes)
            body = parts if len(parts) > 1 else bytes(parts[0])
        except EncodeError:
            body = self._encode_stand_in(bundle_of(value))
        own = own_text(value) if body_size(body) <= MOST_WITH_TEXT else None
        if own is not None:
            own = truncate(own, DEFAULT_PRINT_LENGTH)
            with self.shielded():
                self._link.send(Kind.TEXT, self._link.run, own.encode())
        return body

    def _encode_stand_in(self, forms: Mapping[str, Any]) -> Body:
        """Encode the picture or the text that stands for a value, and display its other forms."""
        display = display_from(open_pictures(forms))
        assert display is not None  # every value has a text
        if display.is_figure:
            with contextlib.suppress(EncodeError):
                return encode(display.value, max_bytes=self._max_value_bytes)
        elif display.mime_type != "text/plain":
            self._display(forms)
        text = encodable(str(text_of(display)))
        return encode(text[: min(_LONGEST_REPR, self._max_value_bytes // 12)])

    def _accept(self, frame: Frame) -> None:
        try:
            if frame.kind is Kind.TOOLS:
                specs = _from_host(frame.body)
                tools = {spec["name"]: self._calls.stub(**spec) for spec in specs}
                self._engine.send_tools(tools)
            else:
                variables: dict[str, Any] = {}
                for content in map(_from_host, split_messages(frame.body)):
                    if isinstance(content, list):
                        self._engine.remove_variables(content)
                    else:
                        variables.update(content)
                self._engine.send_variables(variables)
        except Exception as error:
            body = _failure(type(error).__name__, str(error))
            self._link.send(Kind.FAILED, frame.run, body)
            return
        self._link.send(Kind.ACCEPTED, frame.run)

    def _display(self, bundle: Mapping[str, Any]) -> None:
        """Send a display; omit forms that are too large."""
        bytes_left = self._max_value_bytes // 2  # bytes are longer when encoded
        kept = {}
        for mime_type, form in sorted(bundle.items(), key=lambda item: len(item[1])):
            bytes_left -= 6 * len(form) if isinstance(form, str) else 2 * len(form)
            if bytes_left > 0:
                kept[mime_type] = form
        if kept and self._in_run:
            try:
                body = encode_message(open_pictures(kept), max_bytes=self._max_value_bytes)
            except EncodeError:
                body = encode_message(kept)
            with self.shielded():
                self._link.send(Kind.DISPLAY, self._link.run, body)

    def _exchange_file(self, frame: Frame) -> None:
        try:
            body = worker_files.answer(frame.body)
        except (OSError, MemoryError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or "the memory limit is reached"
            self._link.send(Kind.FAILED, frame.run, _failure(type(error).__name__, reason))
            return
        self._link.send(Kind.CONTENT, frame.run, body)

    # -- the bridge --

    def _ask_host(self, *request: Part) -> bytes | bytearray:
        if not self._in_run:
            raise RuntimeError(RUN_ENDED)
        with self.shielded():
            self._link.send(Kind.CALL, self._link.run, request)
            while (frame := self._link.receive()) is not None:
                if frame.kind is Kind.REPLY:
                    return frame.body
        os._exit(0)  # the host has closed the connection

    def _finish(self) -> NoReturn:
        # The host already has the value.
        if threading.current_thread() is threading.main_thread():
            raise FinalAnswer
        raise SystemExit  # ends the thread; the host stops the run


def _from_host(body: bytes | bytearray | memoryview) -> Any:
    # The host has its own limit, and is trusted.
    return decode(body, path="variables", max_bytes=len(body))


def _failure(error_name: str, message: str) -> bytes:
    if len(message) > _LONGEST_REPR:
        message = f"{message[:_LONGEST_REPR]}... ({len(message)} characters)"
    return encode({"kind": error_name, "message": message})

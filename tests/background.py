"""Background work of tests: its errors are raised in the test, and no thread outlives the test.

A bare thread continues if the test fails before its ``join``, and the next test reports its error.
Here every thread is awaited, whatever happens in the block. Its error is raised in the test that
started it, unless the test requested it. Ends of processes are waited for, too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: Only detects hangs, even on a busy machine. Shorter than the time limit of a test (conftest.py),
#: which ends the process that runs it: what was waited for is in the message of the failure.
PATIENCE_SECONDS = 100.0


def eventually(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> bool:
    """Return whether ``condition`` becomes true within ``seconds``.

    It is asked every 20 ms, and less often where asking an engine takes long: others need the
    processor meanwhile, and what is waited for does, too.
    """
    end = time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        if condition():
            return True
        time.sleep(min(max(0.02, 5 * (time.monotonic() - begun)), 0.5))
    return bool(condition())


class PrintedLine:
    """An ``on_output`` function that notes when a whole line has been printed.

    ``print`` writes its text and the end of the line one after the other. An interruption between
    the two would take the second away.
    """

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, text: str) -> None:
        self.text += text

    def is_set(self) -> bool:
        """Return whether a line has ended."""
        return "\n" in self.text


class Background:
    """One call in a separate thread; created by :func:`running`."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._value: Any = None
        self._error: BaseException | None = None
        self._told = False
        # A daemon: a hanging call fails its test below, but must not delay the end of the run.
        self._thread = threading.Thread(target=self._run, daemon=True, name="test-background")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._function(*self._arguments)
        except BaseException as error:
            self._error = error

    @property
    def ended(self) -> bool:
        """Return whether the call has returned or raised."""
        return not self._thread.is_alive()

    def result(self, seconds: float = PATIENCE_SECONDS) -> Any:
        """Wait for the call and return its result; its exception is raised here."""
        error = self.error(seconds)
        if error is not None:
            raise error
        return self._value

    def error(self, seconds: float = PATIENCE_SECONDS) -> BaseException | None:
        """Wait for the call and return its exception, or None if it returned."""
        self._thread.join(seconds)
        assert self.ended, f"still running after {seconds} s:\n{self._where()}"
        self._told = True
        return self._error

    def until(self, condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until ``condition`` is true, for example an event's ``is_set``.

        Raises the call's exception if the call raised before. Raises AssertionError if the call
        returned before, or after ``seconds``.
        """
        assert eventually(lambda: condition() or self.ended, seconds), (
            f"nothing in {seconds} s; the call is at\n{self._where()}"
        )
        if not condition():
            raise AssertionError(f"the call ended before, with {self.result()!r}")

    def _where(self) -> str:
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame else "(it has ended)"


@contextlib.contextmanager
def running(
    function: Callable[..., Any], *arguments: Any, stop: Callable[[], Any] | None = None
) -> Iterator[Background]:
    """Call ``function(*arguments)`` in a thread during the block, and wait for it at the end.

    Args:
        function: the function.
        arguments: its arguments.
        stop: ends the call early; called if the block fails, so that the test's error is reported
            without waiting for the call.

    Raises:
        BaseException: the call's exception, unless the block requested it with
            :meth:`Background.result` or :meth:`Background.error`. If the block itself failed, it
            is printed in addition to the block's error.
    """
    call = Background(function, arguments)
    try:
        yield call
        if not call._told:
            call.result()
    except BaseException:
        if not call.ended:
            if stop is not None:
                with contextlib.suppress(Exception):
                    stop()
            call._thread.join(PATIENCE_SECONDS)
        if call._error is not None and not call._told:
            traceback.print_exception(type(call._error), call._error, call._error.__traceback__)
        raise


@contextlib.contextmanager
def acting(
    when: Callable[[], Any], action: Callable[[], Any], seconds: float = PATIENCE_SECONDS
) -> Iterator[Background]:
    """Run ``action`` in another thread as soon as ``when()`` is true, during the block.

    The condition is an event of the code under test, for example a received print. A fixed delay
    would be too short on a busy machine. It is an error if the block ends without the action.
    """
    over = threading.Event()

    def wait_and_act() -> Any:
        arrived = eventually(lambda: when() or over.is_set(), seconds)
        if when():
            return action()
        # A failing block raises its own error.
        raise AssertionError("the block ended before its moment" if arrived else "it never came")

    with running(wait_and_act, stop=over.set) as call:
        yield call
        over.set()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run all ``calls`` at the same time, each in a thread; return their results in order.

    All of them are awaited before the first error is raised.
    """
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(running(call)) for call in calls]
        errors = [call.error() for call in made]
    for error in errors:
        if error is not None:
            raise error
    return [call.result() for call in made]


def process_gone(pid: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return not os.path.exists(f"/proc/{pid}")


def run_python(program: str, *arguments: str, switches: Sequence[str] = (), **options: Any) -> str:
    """Run a program in a process of its own; return what it prints. It ends well, without errors.

    Args:
        program: of Python.
        arguments: of the program.
        switches: of Python.
        options: of ``subprocess.run``.
    """
    done = subprocess.run(
        [sys.executable, *switches, "-c", program, *arguments],
        **{"capture_output": True, "text": True, "timeout": PATIENCE_SECONDS, **options},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return str(done.stdout)


@contextlib.contextmanager
def host_process(program: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a host's program that prints ``ready``; kill it, and what it has forked, with the block.

    Args:
        program: of Python.
        arguments: of the program.
        options: of ``Popen``.
    """
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, **options
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

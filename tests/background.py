"""Work beside a test: its error is the test's own, and no thread outlives the test.

A bare thread that a test starts goes on when the test fails before its ``join``, and what it raises
then is told by the next test. Here every thread is waited for, whatever happened in the block, and
what it raised is raised in the test that started it, unless that asked for it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

#: Only to see that nothing hangs, on a machine that does much besides.
PATIENCE_SECONDS = 240.0


def eventually(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether ``condition`` becomes true within ``seconds``; looks every 20 ms, and at the end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Background:
    """One call in a thread of its own; made by :func:`running`."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._value: Any = None
        self._error: BaseException | None = None
        self._told = False
        # A daemon: what hangs fails its test below, and does not hold up the end of the run too.
        self._thread = threading.Thread(target=self._run, daemon=True, name="test-background")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._function(*self._arguments)
        except BaseException as error:
            self._error = error

    @property
    def ended(self) -> bool:
        """Whether the call has returned or raised."""
        return not self._thread.is_alive()

    def result(self, seconds: float = PATIENCE_SECONDS) -> Any:
        """What the call returned, waited for; what it raised is raised here."""
        error = self.error(seconds)
        if error is not None:
            raise error
        return self._value

    def error(self, seconds: float = PATIENCE_SECONDS) -> BaseException | None:
        """What the call raised, waited for, or None if it returned."""
        self._thread.join(seconds)
        assert self.ended, f"still running after {seconds} s:\n{self._where()}"
        self._told = True
        return self._error

    def until(self, condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until ``condition`` is true: an event's ``is_set``, say.

        Raises what the call raised if it ended before; AssertionError if it returned before, or if
        ``seconds`` have passed.
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
        function: what to call.
        arguments: what with.
        stop: ends the call early; called when the block has failed, so that the test's own error
            is told without the wait for a call that has lost its meaning.

    Raises:
        BaseException: what the call raised, unless the block asked for it by
            :meth:`Background.result` or :meth:`Background.error`. Where the block itself failed
            it is printed beside the block's own error.
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
    """Carry ``action`` out from another thread as soon as ``when()`` is true, during the block.

    The moment is one that the code under test makes (a print that has arrived, say), and not one
    that a clock makes, at which a busy machine may not have begun yet. It is an error when the
    block ends without it.
    """
    over = threading.Event()

    def wait_and_act() -> Any:
        arrived = eventually(lambda: when() or over.is_set(), seconds)
        if when():
            return action()
        # A block that fails tells its own error.
        raise AssertionError("the block ended before its moment" if arrived else "it never came")

    with running(wait_and_act, stop=over.set) as call:
        yield call
        over.set()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make all ``calls`` at the same time, each in a thread; what they returned, in their order.

    All of them are waited for before the first error is raised.
    """
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(running(call)) for call in calls]
        errors = [call.error() for call in made]
    for error in errors:
        if error is not None:
            raise error
    return [call.result() for call in made]

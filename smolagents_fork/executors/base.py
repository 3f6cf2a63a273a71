"""The lifecycle every executor of the fork shares.

Who calls what::

    agent, or user code                 this class                       the executor (a subclass)
    -------------------                 ----------                       -------------------------
    Executor(imports, logger, ...)  ->  __init__ stores, subclass ends
                                        its own __init__ with start() -> _start()      once
    executor(code)                  ->  __call__, checks "open"       -> run_code_raise_errors(code)
    agent.run()                                                       -> send_variables, send_tools
    agent.cleanup(), with, exit     ->  cleanup(), any number of times-> _cleanup()    once

A failed ``_start()`` is followed by ``_cleanup()`` before the error leaves the constructor, so
``_cleanup()`` must cope with anything ``_start()`` had not reached yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from rich.text import Text

from ..bridge import CallRecord
from ..errors import ExecutorClosedError, ExecutorError
from ..upstream import CodeOutput, LogLevel, PythonExecutor
from .async_calls import AsyncCallLock, in_thread
from .call_lock import CallLock
from .validation import check_logger, names_of

__all__ = ["Executor"]

# typing.Self is there from 3.11 on; the fork runs on 3.10 too.
_Self = TypeVar("_Self", bound="Executor")
# How often a call whose awaiter has gone is interrupted until it ends.
_INTERRUPT_AGAIN_SECONDS = 0.5
# The executors in whose calls we are: tools run in threads of their own, with this context.
_inside: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "smolagents_fork_inside", default=frozenset()
)


class Executor(PythonExecutor):  # type: ignore[misc]  # upstream ships no types
    """Base of the fork's executors: one start, an idempotent cleanup, a closed check.

    Args:
        additional_authorized_imports: modules the code may import besides the built-in list. How an
            executor provides them is its own business (an image, an allow-list).
        logger: upstream's ``AgentLogger``, or anything with ``log`` and ``log_error``;
            ``None`` logs nowhere.

    The constructor contract is upstream's for its coming entry points (issue 2722):
    ``cls(additional_authorized_imports, logger, **executor_kwargs)``.
    """

    #: Whether code in this executor can call the agent's managed agents. Read by the agent before
    #: an executor is made, so it is a class attribute.
    supports_managed_agents: ClassVar[bool] = False

    def __init__(self, additional_authorized_imports: Sequence[str], logger: Any = None) -> None:
        # First of all, so that cleanup() and __del__ work however far __init__ comes.
        self._lifecycle_lock = threading.RLock()
        self._calls = CallLock(self._check_open)
        self._started = False
        self._closed = False
        self._async_lock = AsyncCallLock()
        check_logger(logger)
        names = names_of("additional_authorized_imports", additional_authorized_imports)
        self.additional_imports: list[str] = list(names)
        self.logger = logger

    # -- lifecycle: called by constructors, agents and users --

    def start(self) -> None:
        """Bring the sandbox up; a subclass' constructor calls it last. A second call does nothing.

        Raises:
            ExecutorClosedError: after ``cleanup()``.
            ExecutorStartError: it did not come up; everything made so far has been removed.
        """
        with self._lifecycle_lock:
            if self._closed:
                raise ExecutorClosedError(self._closed_message("start"))
            if self._started:
                return
            try:
                self._start()
            except BaseException:
                # KeyboardInterrupt and SystemExit included: nothing may be left behind.
                self.cleanup()
                raise
            self._started = True

    def cleanup(self) -> None:
        """Give everything back. Safe at any time, from any thread, any number of times.

        Waits for no running call: whoever runs one gets an error from it.
        """
        with contextlib.suppress(AttributeError), self._lifecycle_lock:
            if self._closed:
                return
            self._closed = True
            self._cleanup()

    def delete(self) -> None:
        """Upstream's other name for :meth:`cleanup`."""
        self.cleanup()

    @property
    def closed(self) -> bool:
        """Tell whether ``cleanup()`` has been called."""
        return self._closed

    def __enter__(self: _Self) -> _Self:
        self._check_open("enter")
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cleanup()

    def __del__(self) -> None:
        # The interpreter may be half torn down; there is nobody left to tell.
        with contextlib.suppress(Exception):
            self.cleanup()

    # -- running code: called by agents and users --

    def __call__(self, code_action: str) -> CodeOutput:
        """Run ``code_action`` and say whether it gave the final answer (upstream's contract)."""
        self._check_open("call")
        return self.run_code_raise_errors(code_action)

    async def acall(self, code_action: str) -> CodeOutput:
        """Run ``code_action`` without blocking the event loop.

        Calls take turns; one that waits for its turn holds no thread, and is never run when its
        task is cancelled. A cancelled task interrupts its code in the sandbox.
        """
        self._check_open("acall")
        self._check_outside("acall")
        thread: list[threading.Thread] = []
        ended = threading.Event()

        def call() -> CodeOutput:
            thread.append(threading.current_thread())
            try:
                return self(code_action)
            finally:
                ended.set()

        async with self._async_lock.mine():
            task = in_thread(call, "smolagents-fork-call")
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                stop = in_thread(
                    lambda: self._abandon(thread, ended.is_set), "smolagents-fork-interrupt"
                )
                with contextlib.suppress(Exception):
                    await task
                with contextlib.suppress(Exception):
                    await stop
                raise

    # -- for subclasses --

    @abstractmethod
    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code``; an exception in it is raised as upstream's ``AgentError``."""

    @abstractmethod
    def _start(self) -> None:
        """Bring the sandbox up; called once, by :meth:`start`, under the lifecycle lock."""

    @abstractmethod
    def _cleanup(self) -> None:
        """Give everything back; called once, perhaps after a ``_start()`` that failed anywhere."""

    def interrupt(self) -> None:
        """Stop the code that runs now, keeping state where possible; nothing runs: nothing happens.

        May be called from another thread. The default does nothing.
        """

    def _abandon(self, thread: Sequence[threading.Thread], ended: Callable[[], bool]) -> None:
        """End the call of an ``acall`` whose task was cancelled.

        Args:
            thread: the one the call runs in; empty as long as it has none.
            ended: whether the call has ended.
        """
        while not thread and not ended():
            time.sleep(0.01)
        with self._calls.abandoned(thread):
            while not ended():
                # Again and again: the call may have its turn and not have begun.
                if self._calls.is_mine(thread):
                    self.interrupt()
                    time.sleep(_INTERRUPT_AGAIN_SECONDS)
                time.sleep(0.02)

    def is_alive(self) -> bool:
        """Tell whether the next call can be expected to work."""
        return self._started and not self._closed

    @contextlib.contextmanager
    def _turn(self, action: str) -> Iterator[None]:
        """One caller at a time, and an error in place of a wait for oneself.

        Args:
            action: what was asked, for messages.

        Raises:
            ExecutorClosedError: after ``cleanup()``.
            ExecutorError: a tool that this executor's own code has called asks.
        """
        self._check_open(action)
        self._check_outside(action)
        with self._calls.turn(action):
            token = _inside.set(_inside.get() | {id(self)})
            try:
                yield
            finally:
                _inside.reset(token)

    def _check_outside(self, action: str) -> None:
        if self._inside_own_call():
            raise ExecutorError(
                f"{type(self).__name__}: {action} from within a tool that its own code has called, "
                "and that code waits for the tool; give a tool or a managed agent that runs code "
                "an executor of its own"
            )

    def _inside_own_call(self) -> bool:
        """Tell whether the caller is a tool or callback called by this executor's own code."""
        return id(self) in _inside.get()

    def _check_open(self, action: str) -> None:
        """Raise when the executor is closed; ``action`` is what was asked, for the message."""
        if self._closed:
            raise ExecutorClosedError(self._closed_message(action))

    def _closed_message(self, action: str) -> str:
        return (
            f"{type(self).__name__}: {action} after cleanup(); make a new executor "
            "(an agent's cleanup(), or leaving its with block, closes its executor)"
        )

    def _log_call(self, record: CallRecord) -> None:
        # At INFO a loop of calls would bury the steps.
        self._log(str(record), LogLevel.DEBUG)

    def _log(self, message: str, level: Any = None) -> None:
        """Log through the agent's logger when there is one."""
        if self.logger is None:
            return
        # Upstream's logger reads square brackets as markup, and raises on what is none: words of
        # a program or of a tool's arguments must be neither.
        text = Text(message)
        if level is None:
            self.logger.log(text)
        else:
            self.logger.log(text, level=level)

"""Streams of steps that any thread can close: the hook of patch ``closable-stream``."""

from __future__ import annotations

import threading
import types
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from smolagents_fork.executors.agents.lifecycle import interrupt_managed_agents
from smolagents_fork.upstream import AgentError

if TYPE_CHECKING:
    from smolagents_fork.upstream import MultiStepAgent

__all__ = ["StepStream"]


class StepStream(Generator[Any, Any, None]):
    """Generator of an agent's steps, as ``agent.run(task, stream=True)`` returns it.

    It ends when it is closed or dropped. The step that was going on is kept in the agent's memory,
    and its managed agents are interrupted. While another thread waits for a step, a generator of
    Python's cannot be closed; this one interrupts the agent, and the waiting thread gets
    ``StopIteration``.
    """

    def __init__(self, agent: MultiStepAgent, steps: types.GeneratorType[Any, Any, None]) -> None:
        self._agent = agent
        self._steps = steps
        self._running = threading.Lock()
        self._closed = False

    # For inspect.isgenerator(), by which tracers decide whether a result is a stream.
    @property  # type: ignore[misc]  # object's can be set
    def __class__(self) -> type[Any]:
        return types.GeneratorType

    def __getattr__(self, name: str) -> Any:
        if name.startswith("gi_"):
            return getattr(self._steps, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def send(self, value: Any) -> Any:
        """Resume the agent and return what it yields next.

        Raises:
            StopIteration: the run has ended, or the stream was closed meanwhile.
            ValueError: another thread waits for a step.
        """
        return self._resume(lambda: self._steps.send(value))

    def throw(self, *error: Any) -> Any:
        """Raise an error where the agent has yielded; see :meth:`generator.throw`."""
        return self._resume(lambda: self._steps.throw(*error))

    def close(self) -> None:
        """End the run; from any thread. Idempotent."""
        self._closed = True
        if not self._running.acquire(blocking=False):
            self._agent.interrupt()
            return
        try:
            if self._steps.gi_frame is not None:
                interrupt_managed_agents(self._agent)
            self._steps.close()
        finally:
            self._running.release()

    def __del__(self) -> None:
        self.close()

    def _resume(self, resume: Any) -> Any:
        if not self._running.acquire(blocking=False):
            raise ValueError("generator already executing")
        try:
            element = resume()
        except AgentError:
            if self._closed:  # the interruption, by which another thread closed the stream
                raise StopIteration from None
            raise
        finally:
            self._running.release()
        # After the release: close() in another thread either saw the lock, or closed the stream.
        if self._closed:
            self.close()
            raise StopIteration
        return element

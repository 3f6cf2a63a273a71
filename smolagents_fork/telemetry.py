"""Spans and metrics, through the OpenTelemetry API of an application that uses it.

An application that configures OpenTelemetry has imported its API. Only then is anything recorded:
this module imports nothing of it. ``docs/telemetry.md`` lists the names.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._version import fork_revision, upstream_version
from .errors import SandboxDiedError, SandboxTimeoutError, TimeLimitExceededError
from .system.forks import ForkSafeLock, reset_in_child

__all__ = ["Operation", "add_event", "operation", "tool_call", "watch_pool"]

_SCOPE, _VERSION = "smolagents_fork", f"{upstream_version}+fork.{fork_revision}"
EXECUTOR, STATE, CAUSE = f"{_SCOPE}.executor", f"{_SCOPE}.pool.state", f"{_SCOPE}.death.cause"
# Seconds; those of the semantic conventions for HTTP, and more for code that runs for minutes.
_BOUNDARIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


@dataclass
class Operation:
    """One operation while it runs.

    Attributes:
        context: OpenTelemetry's context with the operation's span, for spans of other threads;
            ``None`` without OpenTelemetry.
        error: what ended the operation; ``None`` while nothing did.
    """

    context: Any = None
    error: BaseException | None = None


def operation(
    name: str, executor: str, parent: Any = None
) -> contextlib.AbstractContextManager[Operation]:
    """Record a span around the block, and its duration where a metric has one.

    Args:
        name: ``start``, ``call``, ``interrupt`` or ``end``.
        executor: class of the executor.
        parent: context of another operation; ``None``: the present one.
    """
    return _recorded(f"{_SCOPE}.{name}", name, {EXECUTOR: executor}, parent)


def tool_call(name: str) -> contextlib.AbstractContextManager[Operation]:
    """Record a span and the duration of one call of a tool on the host.

    Args:
        name: Name of the tool.
    """
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return _recorded(f"execute_tool {name}", "tool", attributes, None)


def add_event(event: str, phase: str, facts: Mapping[str, Any]) -> None:
    """Add a line of an executor's record to the present span; no-op without one.

    Args:
        event: What happens, such as ``"run"``.
        phase: ``"begin"``, ``"end"`` or ``"refused"``.
        facts: Fields of the line; those without a value are left out.
    """
    if not _in_use():
        return
    attributes = {
        f"{_SCOPE}.{name}": value if isinstance(value, (str, bool, int, float)) else str(value)
        for name, value in facts.items()
        if value is not None
    }
    span = _api("trace").get_current_span()
    if span.is_recording():  # a connection may end after the call that opened it
        span.add_event(f"{_SCOPE}.{event}.{phase}", attributes)


def watch_pool(pool: Any) -> None:
    """Report a pool's figures until it is collected.

    Args:
        pool: of sandboxes. Its ``stats()``, which is called in the exporter's thread, has the
            numbers ``ready``, ``starting``, ``in_use`` and ``waiting``.
    """
    _pools.add(pool)


_pools: weakref.WeakSet[Any] = weakref.WeakSet()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, whose parent reports the figures of its pools itself."""
    _pools.clear()


def _in_use() -> bool:
    """Tell whether the application may have configured OpenTelemetry."""
    return "opentelemetry.trace" in sys.modules or "opentelemetry.metrics" in sys.modules


def _api(module: str) -> Any:
    return importlib.import_module(f"opentelemetry.{module}")


@contextlib.contextmanager
def _recorded(
    span_name: str, metric: str, attributes: dict[str, Any], parent: Any
) -> Iterator[Operation]:
    operation = Operation()
    if not _in_use():
        yield operation
        return
    trace, metrics = _api("trace"), _metrics()
    started = time.monotonic()
    with trace.get_tracer(_SCOPE, _VERSION).start_as_current_span(
        span_name,
        context=parent,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        operation.context = trace.set_span_in_context(span)
        try:
            yield operation
        except BaseException as error:
            operation.error = error
            raise
        finally:
            metrics.record(metric, time.monotonic() - started, attributes, operation.error)
            if operation.error is not None:
                span.set_attribute("error.type", _type_of(operation.error))
                if isinstance(operation.error, SandboxDiedError):
                    span.set_attribute(CAUSE, operation.error.cause)
                span.set_status(trace.StatusCode.ERROR, _description(operation.error))


def _description(error: BaseException) -> str:
    try:
        return str(error)[:1000]
    except Exception:  # the text of a tool's exception is the tool's code
        return ""


class _Metrics:
    """The metrics of this process."""

    def __init__(self) -> None:
        # The API passes them on to a provider that is set later.
        meter = _api("metrics").get_meter(_SCOPE, _VERSION)
        self._observation = _api("metrics").Observation
        self._durations = {
            name: _histogram(meter, f"{_SCOPE}.{name}.duration", text)
            for name, text in {
                "start": "Starts of executors and of a pool's sandboxes.",
                "call": "Calls of code, with the time of their tools.",
                "tool": "Calls of tools on the host.",
            }.items()
        }
        self._timeouts = meter.create_counter(
            f"{_SCOPE}.timeouts", "{call}", "Calls of code that ran past their time limit."
        )
        self._deaths = meter.create_counter(
            f"{_SCOPE}.deaths", "{sandbox}", "Sandboxes and kernels that ended during a call."
        )
        meter.create_observable_up_down_counter(
            f"{_SCOPE}.pool.sandboxes",
            [self._observe_sandboxes],
            "{sandbox}",
            "Sandboxes of pools, by state.",
        )
        meter.create_observable_up_down_counter(
            f"{_SCOPE}.pool.waiting",
            [self._observe_waiting],
            "{request}",
            "Executors that wait for a sandbox of a pool.",
        )

    def record(
        self, name: str, seconds: float, attributes: dict[str, Any], error: BaseException | None
    ) -> None:
        """Record the end of an operation."""
        failed = {} if error is None else {"error.type": _type_of(error)}
        if name in self._durations:
            self._durations[name].record(seconds, {**attributes, **failed})
        if name != "call":
            return
        if isinstance(error, (SandboxTimeoutError, TimeLimitExceededError)) or (
            type(error).__name__ == "ExecutionTimeoutError"  # upstream's, of the local executor
        ):
            self._timeouts.add(1, attributes)
        if isinstance(error, SandboxDiedError):
            self._deaths.add(1, {**attributes, CAUSE: error.cause})

    def _observe_sandboxes(self, _options: Any) -> Iterable[Any]:
        figures = [pool.stats() for pool in list(_pools)]
        return [
            self._observation(sum(getattr(stats, state) for stats in figures), {STATE: state})
            for state in ("ready", "starting", "in_use")
        ]

    def _observe_waiting(self, _options: Any) -> Iterable[Any]:
        return [self._observation(sum(pool.stats().waiting for pool in list(_pools)))]


def _histogram(meter: Any, name: str, text: str) -> Any:
    try:
        return meter.create_histogram(
            name, "s", text, explicit_bucket_boundaries_advisory=_BOUNDARIES
        )
    except TypeError:  # the API before 1.30
        return meter.create_histogram(name, "s", text)


_lock = ForkSafeLock()
_made = functools.cache(_Metrics)


def _metrics() -> _Metrics:
    """Return the metrics, which are made once."""
    with _lock:
        return _made()


def _type_of(error: BaseException) -> str:
    cls = type(error)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"

"""Wait for a pod's container to run, with the cluster's words when it does not."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import EngineUnavailableError, ExecutorStartError
from .api_client import ClusterClient, ClusterRefusal
from .pod_status import PodState, joined, pod_state, shown_lines

__all__ = ["await_running"]

_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
# Pause before events are first listed, and between two listings: most pods run before.
_EVENTS_PAUSE_SECONDS = 2.0
# Time for which a node may repeat a warning, by the API's clock: it would do so without end.
_REPEATED_SECONDS = 60.0
# Begins the reasons of events about failed steps of a start.
_FAILED = "Failed"
_LOG_LINES = 8
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def await_running(
    client: ClusterClient,
    name: str,
    image: str,
    deadline: Deadline,
    *,
    option: str = "startup_timeout_seconds",
    until_ended: bool = False,
    waiting: Callable[[str], None] = lambda _reason: None,
) -> PodState:
    """Return the state of a pod that runs, or has ended if that is asked for.

    Args:
        client: of the cluster.
        name: of the pod.
        image: of its container, for messages.
        deadline: of the wait.
        option: that sets it, for messages.
        until_ended: wait for its end.
        waiting: takes the cluster's words about a pod that waits.

    Raises:
        ExecutorStartError: it cannot run, ended, or did not run in time; in the cluster's words.
        EngineUnavailableError: the cluster does not answer.
    """
    pause = _FIRST_PAUSE_SECONDS
    warnings = _Warnings(client, name)
    subject = f"pod {name} (image {image})"
    while True:
        is_late = deadline.expired()
        state = _read_state(client, name, is_late)
        if state.ended if until_ended else state.running:
            return state
        if state.ended:
            lines = _last_lines(client, name)
            raise ExecutorStartError(f"{subject} ended while it started: {state.status(lines)}")
        if state.hopeless:
            raise ExecutorStartError(f"image {image!r} in pod {name}: {state.waiting}")
        warnings.update(now=is_late)
        reason = warnings.beside(state.waiting)
        if reason:
            waiting(reason)
        where = f" on node {state.node}" if state.node else ""
        if state.node and warnings.repeated_seconds >= _REPEATED_SECONDS:
            raise ExecutorStartError(
                f"{subject} cannot start{where}, which has repeated for "
                f"{warnings.repeated_seconds:.0f} s: {reason}"
            )
        if is_late:
            without = f"phase {state.phase or 'unknown'}, without a reason in its status or events"
            raise ExecutorStartError(
                f"{subject} did not run in {option}={deadline.seconds:g}{where}: "
                f"{reason or without}"
            )
        time.sleep(deadline.at_most(pause))
        pause = min(_LONGEST_PAUSE_SECONDS, pause * 1.5)


def _read_state(client: ClusterClient, name: str, is_late: bool) -> PodState:
    """Return a pod's state; an empty one where the cluster does not answer for a while."""
    try:
        return pod_state(client.read_pod(name))
    except EngineUnavailableError:
        if is_late:
            raise
        return PodState()
    except ClusterRefusal as error:
        if error.status != 404:
            raise
        raise ExecutorStartError(f"pod {name} was deleted while it started") from None


class _Warnings:
    """Warnings of a pod that does not run yet.

    Args:
        client: of the cluster.
        name: of the pod.
    """

    def __init__(self, client: ClusterClient, name: str) -> None:
        self._client, self._name = client, name
        self._due = time.monotonic() + _EVENTS_PAUSE_SECONDS
        self._reason = self._message = ""
        #: Seconds for which the last failure has been repeated.
        self.repeated_seconds = 0.0

    def update(self, *, now: bool) -> None:
        """List the events if that is due.

        Args:
            now: list them in any case.
        """
        if not now and time.monotonic() < self._due:
            return
        with contextlib.suppress(EngineUnavailableError):
            warnings = self._client.warnings(self._name)
            # Nodes also warn of what keeps no pod from starting, such as missing name servers.
            failures = [one for one in warnings if str(one.get("reason")).startswith(_FAILED)]
            for event in (failures or warnings)[-1:]:
                self._reason = str(event.get("reason") or "")
                self._message = str(event.get("message") or "")
                self.repeated_seconds = _repeated_seconds(event) if failures else 0.0
        self._due = time.monotonic() + _EVENTS_PAUSE_SECONDS

    def beside(self, state: str) -> str:
        """Return the words of a pod's status with the last warning, unless that says the same."""
        same = self._message and self._message in state
        warning = "" if same else joined(self._reason, self._message)
        return "; ".join(part for part in (state, warning) if part)


def _repeated_seconds(event: Mapping[str, Any]) -> float:
    with contextlib.suppress(ValueError):
        first, last = (
            datetime.datetime.strptime(str(event.get(name)), _TIME_FORMAT)
            for name in ("firstTimestamp", "lastTimestamp")
        )
        return (last - first).total_seconds()
    return 0.0


def _last_lines(client: ClusterClient, name: str) -> tuple[str, ...]:
    with contextlib.suppress(ExecutorStartError):
        return shown_lines(client.log_lines(name, _LOG_LINES))
    return ()

"""State of a pod in the cluster's words: why it does not start, whether it runs, how it ended."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...deadline import Deadline
from ...errors import EngineUnavailableError, ExecutorStartError
from ..provisioner import SandboxStatus, select_lines
from .api_client import ClusterClient, ClusterRefusal

__all__ = ["PodState", "await_running", "pod_state"]

# Reasons of a waiting container that no time mends, or that have failed once already.
_HOPELESS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "RunContainerError",
    }
)
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


@dataclass(frozen=True)
class PodState:
    """State of a pod.

    Attributes:
        running: whether its container runs.
        ended: how it ended; empty while it has not.
        exit_code: of its container.
        out_of_memory: whether the cluster ended it for lack of memory.
        waiting: why it does not run yet, in the cluster's words; may be empty.
        hopeless: whether ``waiting`` is an error.
        node: name of its node; empty before it has one.
        node_addresses: addresses of that node.
        phase: ``Pending``, ``Running`` and the like, as the API has it.
    """

    running: bool = False
    ended: str = ""
    exit_code: int | None = None
    out_of_memory: bool = False
    waiting: str = ""
    hopeless: bool = False
    node: str = ""
    node_addresses: tuple[str, ...] = ()
    phase: str = ""

    def status(self, lines: tuple[str, ...], missing: str = "") -> SandboxStatus:
        """Return it as the status of a sandbox.

        Args:
            missing: reason why the pod's log lines cannot be had; empty if they can.
        """
        state = "running" if self.running else self.ended or f"not running yet ({self.waiting})"
        return SandboxStatus(state, self.exit_code, self.out_of_memory, lines, missing)


def pod_state(pod: Mapping[str, Any]) -> PodState:
    """Return the state that the API describes."""
    status = pod.get("status") or {}
    addresses = [host.get("ip") for host in status.get("hostIPs") or ()] or [status.get("hostIP")]
    state = PodState(
        node=str((pod.get("spec") or {}).get("nodeName") or ""),
        node_addresses=tuple(str(address) for address in addresses if address),
        phase=str(status.get("phase") or ""),
    )
    containers = status.get("containerStatuses") or [{}]
    states = containers[0].get("state") or {}
    ended = states.get("terminated")
    if isinstance(ended, Mapping) or state.phase in ("Failed", "Succeeded"):
        last = ended if isinstance(ended, Mapping) else {}
        reason = _join(status.get("reason"), status.get("message"))
        code = last.get("exitCode")
        return replace(
            state,
            ended=f"ended ({reason})" if reason else "ended",
            exit_code=code if isinstance(code, int) else None,
            out_of_memory=last.get("reason") == "OOMKilled",
        )
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return replace(state, ended="ended and is being removed")
    if "running" in states:
        return replace(state, running=True)
    waiting = states.get("waiting") or {}
    reason = _join(waiting.get("reason"), waiting.get("message"))
    if waiting.get("reason") in _HOPELESS:
        return replace(state, waiting=reason, hopeless=True)
    return replace(state, waiting=_find_unscheduled(status) or reason)


def _find_unscheduled(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _join(condition.get("reason"), condition.get("message"))
    return ""


def _join(reason: object, message: object) -> str:
    """Return a reason and a message as one text, bounded; empty if there is neither."""
    return ": ".join(str(part)[:1000] for part in (reason, message) if part)


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
    """Warnings of a pod that does not run yet."""

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
            failures = [event for event in warnings if str(event.get("reason")).startswith(_FAILED)]
            for event in (failures or warnings)[-1:]:
                self._reason = str(event.get("reason") or "")
                self._message = str(event.get("message") or "")
                self.repeated_seconds = _repeated_seconds(event) if failures else 0.0
        self._due = time.monotonic() + _EVENTS_PAUSE_SECONDS

    def beside(self, state: str) -> str:
        """Return the words of a pod's status with the last warning, unless that says the same."""
        same = self._message and self._message in state
        warning = "" if same else _join(self._reason, self._message)
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
        return select_lines(client.log_lines(name, _LOG_LINES))
    return ()

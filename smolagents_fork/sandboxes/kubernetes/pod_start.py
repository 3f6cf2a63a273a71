"""Wait for a pod's container to run, with the cluster's words when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...deadline import Deadline
from ...errors import EngineUnavailableError, ExecutorStartError
from ...first_process_link import MARK
from .api_client import ClusterClient, ClusterRefusal
from .pod_status import PodState, pod_state

__all__ = ["addresses_of_node", "await_running"]

_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_LOG_LINES = 8


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
    state = PodState()
    while True:
        try:
            found = client.call(
                f"asking for pod {name}", client.core.read_namespaced_pod, name, client.namespace
            )
            state = pod_state(found)
        except EngineUnavailableError:
            if deadline.expired():
                raise
        except ClusterRefusal as error:
            if error.status != 404:
                raise
            raise ExecutorStartError(f"pod {name} was deleted while it started") from None
        if state.running and not until_ended:
            return state
        if state.ended:
            if until_ended:
                return state
            lines = _last_lines(client, name)
            raise ExecutorStartError(
                f"pod {name} (image {image}) ended while it started: {state.status(lines)}"
            )
        if state.hopeless:
            raise ExecutorStartError(f"image {image!r} in pod {name}: {state.waiting}")
        if state.waiting:
            waiting(state.waiting)
        if deadline.expired():
            where = f" on node {state.node}" if state.node else ""
            raise ExecutorStartError(
                f"pod {name} (image {image}) did not run in {option}={deadline.seconds:g}{where}: "
                f"{state.waiting or 'the cluster gives no reason'}"
            )
        time.sleep(deadline.at_most(pause))
        pause = min(_LONGEST_PAUSE_SECONDS, pause * 1.5)


def _last_lines(client: ClusterClient, name: str) -> tuple[str, ...]:
    try:
        lines = client.log_lines(name, _LOG_LINES)
    except ExecutorStartError:
        return ()
    return tuple(line[:300] for line in lines if line.strip() and not line.startswith(MARK))


def addresses_of_node(client: ClusterClient, name: str) -> list[str]:
    """Return the addresses of a pod's node.

    Args:
        client: of the cluster.
        name: of the pod.
    """
    found = client.call(
        f"asking for pod {name}", client.core.read_namespaced_pod, name, client.namespace
    )
    status = found.get("status") or {}
    several = [str(one.get("ip")) for one in status.get("hostIPs") or () if one.get("ip")]
    return several or [str(status["hostIP"])] if status.get("hostIP") else several

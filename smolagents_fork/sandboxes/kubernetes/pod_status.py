"""State of a pod in the cluster's words: whether it runs, why it does not start, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...system.first_process_link import MARK
from ..provisioner import SandboxStatus

__all__ = ["PodState", "joined", "pod_state", "shown_lines"]

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
            lines: last lines of its log.
            missing: why there are none.
        """
        state = "running" if self.running else self.ended or f"not running yet ({self.waiting})"
        return SandboxStatus(state, self.exit_code, self.out_of_memory, lines, missing)


def pod_state(pod: Mapping[str, Any]) -> PodState:
    """Return the state that the API describes.

    Args:
        pod: Pod as the API describes it.
    """
    status = pod.get("status") or {}
    addresses = [one.get("ip") for one in status.get("hostIPs") or ()] or [status.get("hostIP")]
    state = PodState(
        node=str((pod.get("spec") or {}).get("nodeName") or ""),
        node_addresses=tuple(str(one) for one in addresses if one),
        phase=str(status.get("phase") or ""),
    )
    containers = status.get("containerStatuses") or [{}]
    states = containers[0].get("state") or {}
    ended = states.get("terminated")
    if isinstance(ended, Mapping) or state.phase in ("Failed", "Succeeded"):
        last = ended if isinstance(ended, Mapping) else {}
        reason = joined(status.get("reason"), status.get("message"))
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
    reason = joined(waiting.get("reason"), waiting.get("message"))
    if waiting.get("reason") in _HOPELESS:
        return replace(state, waiting=reason, hopeless=True)
    return replace(state, waiting=_unscheduled(status) or reason)


def _unscheduled(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return joined(condition.get("reason"), condition.get("message"))
    return ""


def joined(reason: object, message: object) -> str:
    """Return a reason and a message as one text, bounded; empty if there is neither."""
    return ": ".join(str(part)[:1000] for part in (reason, message) if part)


def shown_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a pod's log that say something about it, bounded.

    Args:
        lines: Lines of the log, which has those of the first process and of the kernel's start,
            too.
    """
    return tuple(
        line[:300] for line in lines
        if line.strip() and "IPKernelApp" not in line and not line.startswith(MARK)
    )  # fmt: skip

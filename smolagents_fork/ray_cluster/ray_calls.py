"""Everything that the placer asks of Ray, each with a limit, and Ray's errors as the fork's."""

from __future__ import annotations

import contextlib
import importlib.util
import platform
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError
from ray.util.metrics import Histogram

from .._version import fork_revision, upstream_version
from ..codec import decode
from ..deadline import within
from ..errors import EngineUnavailableError, ExecutorStartError, ProtocolError, SandboxDiedError
from ..folders.removal import remove_tree
from ..folders.user_folder import temporary_folder
from ..sandboxes.docker.images.image_plans import image_folder
from .head_check import CLIENT_SCHEME, find_refused_token
from .node_supervisor import SupervisorActor
from .plain_data import CLASSES, Reservation, SupervisorPlace, check_data

__all__ = [
    "CreatingSupervisor",
    "connect_to_ray",
    "describe_capacity",
    "fitting_nodes",
    "make_histograms",
]

_NAMESPACE = "smolagents_fork"
_PACKAGE = Path(__file__).parents[1]
_IMAGES = "_images"
_GIB = 1 << 30
# Limits of the question which nodes there are, in seconds. The capacity in a message comes after a
# limit of the host's has passed, within the time that the host grants beyond it.
_NODES_SECONDS = 20.0
_SHOWN_SECONDS = 3.0
_POLL_SECONDS = 1.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]


# -- the connection --


def connect_to_ray(address: str) -> str:
    """Connect this process to a cluster, and return an address of its head.

    Args:
        address: Address as ``ray.init`` takes it.

    Raises:
        EngineUnavailableError: Ray is of another version, or did not connect.
    """
    arguments: dict[str, Any] = {"address": address, "namespace": _NAMESPACE}
    if not address.startswith(CLIENT_SCHEME):
        arguments |= {"log_to_driver": False, "configure_logging": False}
    try:
        with _sent_packages() as folders:
            # What supervisors import; Ray keeps it by its content, and nodes fetch it once.
            context: Any = ray.init(runtime_env={"py_modules": folders}, **arguments)
    except Exception as error:
        if refused := find_refused_token(address, str(error)):
            raise refused from error
        text = " ".join(str(error).split())[:600]
        raise EngineUnavailableError(
            f"Ray did not connect to {address}: {type(error).__name__}: {text}; this process has "
            f"Ray {ray.__version__}, Python {platform.python_version()} and smolagents "
            f"{upstream_version}+fork.{fork_revision}"
        ) from error
    with contextlib.suppress(Exception):
        return str(context.address_info.get("gcs_address") or address)
    return address


@contextlib.contextmanager
def _sent_packages() -> Iterator[list[str]]:
    """Yield folders with this package and, where it is installed, docker-py: all that nodes lack.

    They are copies, without compiled files: their content is that of the versions alone.
    """
    folder = Path(temporary_folder("ray-packages-"))
    try:
        sent = [_copy(_PACKAGE, folder)]
        if not (sent[0] / _IMAGES).exists():
            _copy(Path(str(image_folder("jupyter"))).parent, sent[0], _IMAGES)
        spec = importlib.util.find_spec("docker")
        if spec is not None and spec.origin is not None:
            sent.append(_copy(Path(spec.origin).parent, folder))
        yield [str(path) for path in sent]
    finally:
        remove_tree(str(folder))


def _copy(source: Path, folder: Path, name: str = "") -> Path:
    target = folder / (name or source.name)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


# -- nodes --


def fitting_nodes(reservation: Reservation) -> list[str]:
    """Return the ids of the nodes that can have a reservation once they are free.

    Returns:
        empty for a cluster without nodes, which its autoscaler may start.

    Raises:
        EngineUnavailableError: the head does not answer.
        ExecutorStartError: no node can ever have it; names the largest and what was asked for.
    """
    nodes = _alive_nodes(_NODES_SECONDS)
    fitting = [name for name, resources in nodes.items() if _fits(resources, reservation)]
    if nodes and not fitting:
        cpus, memory = max(
            (resources.get("CPU", 0.0), resources.get("memory", 0.0))
            for resources in nodes.values()
        )
        raise ExecutorStartError(
            f"largest node has {cpus:g} CPUs and {memory / _GIB:.1f} GiB, asked for {reservation}: "
            "lower slots_per_node=, cpus_per_slot= or memory_per_slot= of the engine"
        )
    return sorted(fitting)


def describe_capacity() -> str:
    """Return the nodes of the cluster for a message."""
    try:
        nodes = _alive_nodes(_SHOWN_SECONDS).values()
        free = _ask_head("what is free", _SHOWN_SECONDS, ray.available_resources)
    except EngineUnavailableError as error:
        return str(error)
    cpus = sum(node.get("CPU", 0.0) for node in nodes)
    memory = sum(node.get("memory", 0.0) for node in nodes)
    return (
        f"the cluster has {len(nodes)} nodes, {cpus:g} CPUs and {memory / _GIB:.1f} GiB, of which "
        f"{free.get('CPU', 0.0):g} CPUs and {free.get('memory', 0.0) / _GIB:.1f} GiB are free"
    )


def _alive_nodes(seconds: float) -> dict[str, Mapping[str, float]]:
    """Return the resources of the nodes that Ray believes alive, by id."""
    nodes = _ask_head("which nodes the cluster has", seconds, ray.nodes)
    return {node["NodeID"]: node["Resources"] for node in nodes if node["Alive"]}


def _ask_head(question: str, seconds: float, ask: Callable[[], Any]) -> Any:
    """Return an answer of the head; Ray itself sets no limit.

    Raises:
        EngineUnavailableError: it does not answer.
    """
    text = f"the head did not say within {seconds:.0f} s {question}"
    try:
        return within(seconds, ask, EngineUnavailableError(text))
    except EngineUnavailableError:
        raise
    except Exception as error:
        raise EngineUnavailableError(
            f"{text}: {type(error).__name__}: {_summary(error)}"
        ) from error


def _fits(node: Mapping[str, float], reservation: Reservation) -> bool:
    return (
        node.get("CPU", 0.0) >= reservation.whole_cpus
        and node.get("memory", 0.0) >= reservation.whole_memory
    )


# -- supervisors --


class CreatingSupervisor:
    """A supervisor that Ray has been asked for.

    Args:
        reservation: Reservation of the supervisor.
        avoided: ids of nodes that do not get it.
    """

    def __init__(self, reservation: Reservation, avoided: Collection[str]) -> None:
        options: dict[str, Any] = {"num_cpus": reservation.whole_cpus, "max_restarts": 0}
        if reservation.whole_memory:
            options["memory"] = reservation.whole_memory
        if reservation.node:
            options["label_selector"] = {"ray.io/node-id": reservation.node}
        elif avoided:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(avoided))})"}
        decorate: Any = ray.remote
        actor_class = decorate(SupervisorActor).options(scheduling_strategy="SPREAD", **options)
        self._actor = actor_class.remote(reservation)
        self._described = self._actor.describe.remote()

    def place(self) -> SupervisorPlace | None:
        """Wait a second; return its place, ``None`` while it has none.

        Raises:
            SandboxDiedError: its node was lost.
            ForkError: it has refused, or did not start.
        """
        done, _ = ray.wait([self._described], timeout=_POLL_SECONDS)
        if not done:
            return None
        try:
            answer = ray.get(done[0], timeout=_POLL_SECONDS)
        except RayError as error:
            text = f"{type(error).__name__}: {_summary(error)}"
            if isinstance(error, RayActorError) and "creation task" not in text:
                # A node that is lost is worth another try; an error of the supervisor is not.
                raise SandboxDiedError(text, cause="node") from error
            raise ExecutorStartError(f"the supervisor did not start: {text}") from error
        if type(answer) is not bytes:
            raise ProtocolError("a supervisor answers with its place")
        return check_data(decode(answer, classes=CLASSES), SupervisorPlace)

    def kill(self) -> None:
        """End its process; no error if it has ended or cannot be reached."""
        with contextlib.suppress(Exception):
            ray.kill(self._actor)


def _summary(error: BaseException) -> str:
    """Return the first line of Ray's message, and the error at its end if there is one.

    The others are about Ray's own classes and logs.
    """
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    cause = f" ({lines[-1][:400]})" if len(lines) > 1 and _ERROR.match(lines[-1]) else ""
    return lines[0][:400] + cause


def make_histograms() -> dict[str, Histogram]:
    """Return histograms ``smolagents_fork_<name>_seconds``, by name."""
    return {
        name: Histogram(
            f"smolagents_fork_{name}_seconds",
            description=f"Time of a {name} of a sandbox, in seconds.",
            boundaries=_BOUNDARIES,
            tag_keys=("node", "kind", "tenant"),
        )
        for name in ("wait", "start", "request", "call")
    }

"""A placer process without Ray: real supervisors in this process, with the real connections.

Ray does two things for sandboxes: it places a supervisor, and ends it. Here the supervisors are
given, and do not end. Everything above is the product's own, and below, unless a test has sandboxes
of the kind ``echo``.
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from smolagents_fork.errors import ForkError
from smolagents_fork.ray_cluster import supervisors
from smolagents_fork.ray_cluster.node_link import AnswerStream, ask
from smolagents_fork.ray_cluster.node_supervisor import Supervisor
from smolagents_fork.ray_cluster.plain_data import Reservation, SupervisorPlace
from smolagents_fork.ray_cluster.supervisors import Cluster
from smolagents_fork.system.forks import Owner

__all__ = ["STARTING", "DoubledPlacer", "EchoKind", "EchoSandbox", "Node", "cluster_of"]

#: In a thread that starts a sandbox, ``node`` is the name of its node.
STARTING = threading.local()

# Only detects hangs.
_SECONDS = 240.0


class EchoSandbox:
    """A sandbox whose streams echo.

    Attributes:
        written: pieces of files.
        closed: set once it has ended.
    """

    def __init__(self) -> None:
        self.info = {"kind": "echo"}
        self.requests: dict[str, Callable[..., Any]] = {
            "open_stream": lambda timeout: AnswerStream("opened", self._echo),
            "write_file": lambda _path, pieces, _size: self.written.extend(pieces),
        }
        self.closed = threading.Event()
        self.written: list[bytes] = []
        self._streams: list[socket.socket] = []

    def _echo(self, stream: socket.socket) -> None:
        self._streams.append(stream)
        while data := stream.recv(1 << 16):
            stream.sendall(data)

    def close(self) -> None:
        for stream in self._streams:
            stream.shutdown(socket.SHUT_RDWR)
        self.closed.set()


class EchoKind:
    """Starts such sandboxes.

    Attributes:
        made: the sandboxes.
        before: called with the id of each; its error is that of the start.
    """

    before: Callable[[str], None] = staticmethod(lambda _sandbox: None)

    def __init__(self) -> None:
        self.made: list[EchoSandbox] = []

    def start(self, sandbox: str, _options: dict[str, Any]) -> EchoSandbox:
        self.before(sandbox)
        self.made.append(EchoSandbox())
        return self.made[-1]

    def close(self) -> None:
        pass


class Node(Supervisor):
    """A supervisor on the loopback whose lease does not end.

    Args:
        kind: of its sandboxes.
        name: id of its node.

    Attributes:
        exits: how often it would have ended its process.
    """

    def __init__(self, kind: str, name: str = "node1") -> None:
        self.name, self.exits = name, 0
        super().__init__(Reservation(kind, 4, 1.0, 0, 15.0), name, "127.0.0.1")

    def do_start(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        """Start a sandbox; see :data:`STARTING`."""
        STARTING.node = self.name
        return super().do_start(*arguments, **keywords)

    def _watch(self) -> None:
        """Leave the lease alone: it would end this process."""

    def _exit(self) -> None:
        """Note the end in place of this process's."""
        self.exits += 1


class DoubledPlacer:
    """Answers as ``PlacerProcess`` does.

    Args:
        *nodes: to which supervisors go, in turn, unless their reservation names one.
    """

    ended = ""

    def __init__(self, *nodes: Node) -> None:
        self.owner = Owner()
        self.users: set[object] = set()
        #: Seconds that each creation may take.
        self.creation_seconds: list[float] = []
        #: Name, seconds, node, kind and tenant of each time.
        self.times: list[tuple[str, float, str, str, str]] = []
        #: Creations that were asked for, and those that were cancelled.
        self.creations: list[str] = []
        self.cancelled: list[str] = []
        self._next = itertools.cycle(nodes)
        self._by_name = {node.name: node for node in nodes}
        self._places: dict[str, SupervisorPlace] = {}

    def use(self, user: object) -> bool:
        """Note a user, as the process does."""
        self.users.add(user)
        return not self.ended

    def request(self, op: str, **arguments: Any) -> Future[Any]:
        answer = Future[Any]()
        work: Callable[..., Any] = getattr(self, f"do_{op}")
        try:
            value = work(**arguments)
        except ForkError as error:
            answer.set_exception(error)
        else:
            if value is not self:
                answer.set_result(value)
        return answer

    def ask(self, op: str, seconds: float, **arguments: Any) -> Any:
        return self.request(op, **arguments).result(seconds)

    def do_create(
        self, creation: str, reservation: Reservation, seconds: float, **nodes: Any
    ) -> Any:
        """Return the place of a supervisor; this object as long as there is none."""
        self.creation_seconds.append(seconds)
        self.creations.append(creation)
        node = self.node_for(reservation, **nodes)
        if node is None:
            return self
        self._places[node.place.supervisor] = node.place
        return node.place

    def node_for(
        self, reservation: Reservation, without: Sequence[str], avoided: Sequence[str]
    ) -> Node | None:
        """Return the node that gets a supervisor."""
        return self._by_name[reservation.node] if reservation.node else next(self._next)

    def do_remove(self, supervisor: str, sandbox: str) -> None:
        ask(self._places[supervisor], _SECONDS, "remove", sandbox=sandbox)

    def do_end(self, supervisor: str) -> None:
        pass

    def do_cancel(self, creation: str) -> None:
        self.cancelled.append(creation)

    def do_nodes(self, reservation: Reservation) -> list[str]:
        return list(self._by_name)

    def do_capacity(self) -> str:
        return "the cluster has 1 nodes"

    def do_heard(self) -> dict[str, float]:
        return dict.fromkeys(self._places, 0.5)

    def do_record(self, name: str, seconds: float, node: str, kind: str, tenant: str) -> None:
        self.times.append((name, seconds, node, kind, tenant))


def cluster_of(monkeypatch: pytest.MonkeyPatch, placer: DoubledPlacer) -> Cluster:
    """Return a cluster whose supervisors a placer makes."""
    monkeypatch.setattr(supervisors, "PlacerProcess", lambda *_arguments: placer)
    monkeypatch.setattr(supervisors, "_shared", {})
    return Cluster("127.0.0.1:6379", 4.5)

"""Host side of the placer process: one for each address, shared and counted."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from typing import Any

from ..deadline import Deadline
from ..errors import EngineUnavailableError, ForkError, ProtocolError
from ..forks import ForkSafeLock, Owner, forget, keep_open, reset_in_child
from .head_check import check_head, refused_token
from .node_link import KEY_BYTES, FrameSocket, answer_of, connect
from .plain_data import SupervisorPlace, failure_of

__all__ = ["BOOTSTRAP", "Placement", "PlacerProcess", "running_placer", "shared_placer"]

#: Program of a placer; its command line tells it from other processes.
BOOTSTRAP = (
    "import json, sys\n"
    "number, address, path = json.loads(sys.argv[1])\n"
    "sys.path[:] = path\n"
    "from smolagents_fork.ray_cluster import placer\n"
    "placer.main(number, address)\n"
)
# Time an unused placer stays, for the next executor to use, in seconds.
_LINGER_SECONDS = 5.0
# Limit of a connection in seconds, with the import of Ray. It takes a few seconds, and much longer
# on a busy machine.
_CONNECT_SECONDS = 240.0
# Beyond the time that the placer itself waits, in seconds.
_GRACE_SECONDS = 5.0
_EXIT_SECONDS = 5.0
_KILLED_SECONDS = 30.0
_KEPT_LINES = 30
# Seconds for which a node whose engine did not answer is used where no other has a free slot.
_AVOIDED_SECONDS = 120.0
# Times that wait to be sent; the oldest are dropped.
_MOST_TIMES = 10_000


class Placement:
    """A sandbox as the placer knows it: whether its supervisor is lost, and what ends with that.

    Args:
        sandbox: Id of the sandbox.
    """

    def __init__(self, sandbox: str) -> None:
        self.sandbox = sandbox
        #: Reason for which its supervisor was given up, and when it was last heard of; or empty.
        self.lost = ""
        #: Whether its removal was asked for.
        self.ending = False
        #: Set once it has been removed, or is lost.
        self.removed = threading.Event()
        self._event = threading.Event()
        self._lock = threading.RLock()
        self._streams: set[socket.socket] = set()

    def add(self, stream: socket.socket) -> None:
        """Have a stream end when the supervisor is lost."""
        with self._lock:
            self._streams = {one for one in self._streams if one.fileno() >= 0} | {stream}
        if self.lost:
            self.lose(self.lost)

    def lose(self, reason: str) -> None:
        """Note that the supervisor is lost, and end the streams.

        Args:
            reason: for messages.
        """
        with self._lock:
            self.lost = reason
            streams = list(self._streams)
        self._event.set()
        self.removed.set()
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def why_lost(self, seconds: float) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream.

        Args:
            seconds: Seconds to wait at most.
        """
        self._event.wait(seconds)
        return self.lost


class PlacerProcess:
    """A placer process that is connected to one cluster.

    Args:
        address: Address of the cluster's head.
        seconds: Seconds that the head may take to accept a connection and to say something.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self.address = address
        self.owner = Owner()
        #: Why it ended; empty while it runs.
        self.ended = ""
        self._has_ended = threading.Event()
        #: Those who use it; a set, because a finaliser may leave without a lock.
        self.users: set[object] = set()
        self.unused_since = time.monotonic()
        #: Why a node's engine took no sandbox when it was last asked, and when, by node.
        self.engine_errors: dict[str, tuple[str, float]] = {}
        #: What came of the connection to the cluster: nothing, or why it failed.
        self._connected: queue.SimpleQueue[ForkError | None] = queue.SimpleQueue()
        self._placements: weakref.WeakValueDictionary[str, Placement]
        self._placements = weakref.WeakValueDictionary()
        self._stderr: deque[str] = deque(maxlen=_KEPT_LINES)
        self._times: deque[tuple[str, float, str, str, str]] = deque(maxlen=_MOST_TIMES)
        self._posted: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._start()
        try:
            # While the placer imports Ray.
            check_head(address, seconds)
            self._wait_for_connection()
        except BaseException:
            self.close()
            # It may wait for Ray, which has nothing to lose yet.
            self.wait(0.0)
            raise

    def _start(self) -> None:
        key = secrets.token_bytes(KEY_BYTES)
        with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
            arguments = json.dumps([server.fileno(), self.address, sys.path])
            try:
                self._process = subprocess.Popen(
                    # Isolated: modules in the current folder may be anybody's.
                    [sys.executable, "-I", "-X", "utf8", "-c", BOOTSTRAP, arguments],
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    pass_fds=[server.fileno()], start_new_session=True,
                    env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
                )  # fmt: skip
            except OSError as error:
                raise EngineUnavailableError(
                    f"Ray's placer process did not start: {error}"
                ) from error
            with contextlib.suppress(OSError), self._process.stdin as keys:  # type: ignore[union-attr]
                keys.write(key)
            host, port = server.getsockname()
            self._place = SupervisorPlace("placer", "", host, port, key, tls=False)
            events = connect(self._place, _EXIT_SECONDS, "events")
        self._kept = (events, self._process)
        keep_open(self._kept)
        self._events = FrameSocket(events)
        for work in (self._read_errors, self._receive, self._write):
            threading.Thread(target=work, name="smolagents-fork-ray", daemon=True).start()

    def _wait_for_connection(self) -> None:
        deadline = Deadline(_CONNECT_SECONDS)
        while not deadline.expired():
            if refused := refused_token(self.address, " ".join(list(self._stderr))):
                raise refused  # Ray only logs it, and keeps trying
            with contextlib.suppress(queue.Empty):
                failure = self._connected.get(timeout=0.1)
                if failure is not None:
                    raise failure
                return
        said = f": {self._stderr[-1]}" if self._stderr else ""
        raise EngineUnavailableError(
            f"Ray did not connect to the cluster at {self.address} within {_CONNECT_SECONDS:.0f} "
            f"s{said}"
        )

    def _lost_cluster(self) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"the Ray cluster at {self.address} is lost: the placer process: {self.ended}"
        )

    # -- requests --

    def ask(self, op: str, seconds: float, **arguments: Any) -> Any:
        """Carry out a request and return its value.

        Args:
            op: its name.
            seconds: Seconds that the placer waits at most.
            **arguments: plain data.

        Raises:
            EngineUnavailableError: the placer has ended, or does not answer.
            ForkError: the request failed; says why.
        """
        seconds += _GRACE_SECONDS
        try:
            with connect(self._place, seconds, op, **arguments) as connection:
                return answer_of(connection, seconds)
        except TimeoutError as error:
            raise EngineUnavailableError(
                f"Ray's placer process for the cluster at {self.address} did not answer within "
                f"{seconds:.0f} s"
            ) from error
        except OSError as error:
            self._has_ended.wait(_GRACE_SECONDS)
            raise self._lost_cluster() from error

    def nodes_without_engine(self) -> tuple[str, ...]:
        """Return the ids of the nodes whose engines have lately not answered."""
        after = time.monotonic() - _AVOIDED_SECONDS
        return tuple(node for node, (_, at) in self.engine_errors.items() if at > after)

    def post(self, op: str, **arguments: Any) -> None:
        """Send a request whose answer nobody waits for; safe in a finaliser."""
        self._posted.put({"op": op, "arguments": arguments})

    def record(self, name: str, seconds: float, node: str, kind: str, tenant: str) -> None:
        """Take a time for the figures; :meth:`send_times` sends it later, with others.

        Args:
            name: Name of the histogram.
            seconds: the time.
            node: id of the node.
            kind: Kind of the sandbox.
            tenant: empty for none.
        """
        self._times.append((name, seconds, node, kind, tenant))

    def send_times(self) -> None:
        """Send the times since the last time; one thread calls this."""
        times = [self._times.popleft() for _ in range(len(self._times))]
        if times:
            self.post("record", times=times)

    def _write(self) -> None:
        while (posted := self._posted.get()) is not None:
            # The receiver notices the end; a value that cannot be sent concerns nobody else.
            with contextlib.suppress(OSError, ForkError):
                self._events.send(posted)

    def _receive(self) -> None:
        reason = ""
        try:
            while (event := self._events.receive()) is not None:
                self._handle(event)
        except OSError:
            pass  # as an end without an error
        except (ProtocolError, KeyError, TypeError) as error:
            reason = f"it sent what it may not ({error})"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        said = f"; it said: {self._stderr[-1]}" if self._stderr else ""
        self._end(reason or f"it ended with exit code {self._process.poll()}{said}")

    def _handle(self, event: dict[str, Any]) -> None:
        if "connected" in event:
            failed = event["connected"]
            self._connected.put(None if failed is None else failure_of(failed))
        for sandbox in event.get("lost", ()):
            self._lose(sandbox, str(event["reason"]))
        placement = self._placements.get(event.get("removed", ""))
        if placement is not None:
            placement.removed.set()

    def _end(self, reason: str) -> None:
        self.ended = self.ended or reason
        self._has_ended.set()
        self._connected.put(self._lost_cluster())
        self._posted.put(None)
        for sandbox in list(self._placements):
            self._lose(sandbox, f"Ray's placer process: {self.ended}")

    def _read_errors(self) -> None:
        stream: Any = self._process.stderr
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._stderr.append(line.decode(errors="replace").strip()[:500])
        stream.close()

    # -- placements --

    def watch(self, placement: Placement) -> None:
        """Tell a placement when its supervisor is lost; it is not kept alive.

        Args:
            placement: Placement of a sandbox, before it starts.
        """
        self._placements[placement.sandbox] = placement
        if self.ended:
            placement.lose(f"Ray's placer process: {self.ended}")

    def _lose(self, sandbox: str, reason: str) -> None:
        placement = self._placements.get(sandbox)
        if placement is not None:
            placement.lose(reason)

    # -- the end --

    def close(self) -> None:
        """End the placer, its supervisors and their sandboxes. Idempotent."""
        if not self.owner.inherited:
            self.ended = self.ended or "it was closed"
            self._events.close()

    def wait(self, seconds: float) -> None:
        """Wait for the process to end.

        Args:
            seconds: Seconds to wait at most; then it is killed.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILLED_SECONDS)
        finally:
            forget(self._kept)

    def release(self, user: object) -> None:
        """Note that a user has no need of it; it ends a few seconds after the last.

        Args:
            user: User that was given to :func:`shared_placer`.
        """
        self.unused_since = time.monotonic()
        self.users.discard(user)


_placers: dict[str, PlacerProcess] = {}
_placers_lock = ForkSafeLock()
# For the time of a connection, which keeps no other cluster waiting.
_address_locks: dict[str, threading.RLock] = {}


def shared_placer(address: str, seconds: float, user: object) -> PlacerProcess:
    """Return the placer of a cluster, started if necessary.

    Args:
        address: Address of the cluster's head.
        seconds: see :class:`PlacerProcess`.
        user: keeps it running until :meth:`PlacerProcess.release`.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """
    with _placers_lock:
        lock = _address_locks.setdefault(address, threading.RLock())
    with lock:
        with _placers_lock:
            found = running_placer(address)
            if found is not None:
                found.users.add(user)
                return found
        found = PlacerProcess(address, seconds)
        found.users.add(user)
        with _placers_lock:
            _placers[address] = found
        threading.Thread(
            target=_linger, args=(found,), name="smolagents-fork-ray", daemon=True
        ).start()
        return found


def running_placer(address: str) -> PlacerProcess | None:
    """Return the placer of a cluster if it runs.

    Args:
        address: Address of the cluster's head.
    """
    with _placers_lock:
        found = _placers.get(address)
    return found if found is not None and not found.ended else None


def _linger(placer: PlacerProcess) -> None:
    while not placer.ended:
        time.sleep(0.5)
        placer.send_times()
        with _placers_lock:
            unused = time.monotonic() - placer.unused_since
            if not placer.users and unused > _LINGER_SECONDS:
                placer.close()
    with _placers_lock:
        if _placers.get(placer.address) is placer:
            del _placers[placer.address]
    placer.close()
    placer.wait(_EXIT_SECONDS)


@atexit.register
def _stop_placers() -> None:
    with _placers_lock:
        placers = list(_placers.values())
        _placers.clear()
    for placer in placers:
        placer.close()
    for placer in placers:
        placer.wait(_EXIT_SECONDS)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's placers."""
    _address_locks.clear()
    _placers.clear()

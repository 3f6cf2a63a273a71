"""Host side of the placer process: its start, its requests and its end."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from ..deadline import Deadline
from ..errors import EngineUnavailableError, ForkError, ProtocolError
from ..system.closing import close_on_error
from ..system.forks import Owner, forget, keep_open
from .head_check import check_head, find_refused_token
from .node_link import FrameSocket, value_of

__all__ = ["BOOTSTRAP", "PlacerProcess"]

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
# Time in which a placer that was closed ends by itself, and in which one that was killed is gone.
_EXIT_SECONDS, _KILLED_SECONDS = 5.0, 30.0
# Pause between two looks for users while nothing is sent, in seconds.
_TICK_SECONDS = 0.5
_KEPT_LINES = 30


class PlacerProcess:
    """A placer process that is connected to one cluster.

    Args:
        address: Address of the cluster's head.
        seconds: Seconds that the head may take to accept a connection and to say something.
        lost: called with the id of a supervisor that has ended, and why it was given up, if it was;
            an empty id: all.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """

    def __init__(self, address: str, seconds: float, lost: Callable[[str, str], None]) -> None:
        self.address = address
        self.owner = Owner()
        #: Why it ended; empty while it runs.
        self.ended = ""
        self._lost = lost
        #: Those who use it; it ends a few seconds after the last.
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        self._users_lock = threading.Lock()
        self._used_at = float("inf")
        # Answers that are still to come; the first, whether it is connected, without a request.
        self._pending: dict[int, Future[Any]] = {0: Future()}
        self._numbers = itertools.count(1)
        self._stderr: deque[str] = deque(maxlen=_KEPT_LINES)
        self._posted: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        connected = self._pending[0]
        self._start()
        try:
            for work in (self._read_errors, self._receive, self._write):
                threading.Thread(target=work, name="smolagents-fork-ray", daemon=True).start()
            # While the placer imports Ray.
            check_head(address, seconds)
            self._wait_for_connection(connected)
        except BaseException:
            self.close()
            # It may wait for Ray, which has nothing to lose yet.
            self.wait(0.0)
            raise

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, close_on_error(ours):
            arguments = json.dumps([theirs.fileno(), self.address, sys.path])
            try:
                self._process = subprocess.Popen(
                    # Isolated: modules in the current folder may be anybody's.
                    [sys.executable, "-I", "-X", "utf8", "-c", BOOTSTRAP, arguments],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    pass_fds=[theirs.fileno()], start_new_session=True,
                    env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
                )  # fmt: skip
            except OSError as error:
                raise EngineUnavailableError(
                    f"Ray's placer process did not start: {error}"
                ) from error
        self._kept = (ours, self._process)
        keep_open(self._kept)
        self._channel = FrameSocket(ours)

    def _wait_for_connection(self, connected: Future[Any]) -> None:
        deadline = Deadline(_CONNECT_SECONDS)
        while not deadline.expired():
            if refused := find_refused_token(self.address, " ".join(list(self._stderr))):
                raise refused  # Ray only logs it, and keeps trying
            with contextlib.suppress(TimeoutError, FutureTimeoutError):
                connected.result(0.1)
                return
        quote = f": {self._stderr[-1]}" if self._stderr else ""
        raise EngineUnavailableError(
            f"Ray did not connect to the cluster at {self.address} within {_CONNECT_SECONDS:.0f} "
            f"s{quote}"
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
            return self.request(op, **arguments).result(seconds)
        except FutureTimeoutError:
            raise EngineUnavailableError(
                f"Ray's placer process for the cluster at {self.address} did not answer within "
                f"{seconds:.0f} s"
            ) from None

    def request(self, op: str, **arguments: Any) -> Future[Any]:
        """Send a request and return its value to come; safe in a finaliser.

        Args:
            op: its name.
            **arguments: plain data.
        """
        number, answer = next(self._numbers), Future[Any]()
        self._pending[number] = answer
        self._posted.put({"number": number, "op": op, "arguments": arguments})
        if self.ended:
            self._answer(number, None)
        return answer

    def _answer(self, number: int, message: dict[str, Any] | None) -> None:
        """Answer a request; without a message, because the placer has ended."""
        answer = self._pending.pop(number, None)
        if answer is None:
            return
        try:
            if message is None:
                raise EngineUnavailableError(
                    f"the Ray cluster at {self.address} is lost: the placer process: {self.ended}"
                )
            answer.set_result(value_of(message))
        except ForkError as error:
            answer.set_exception(error)

    def _write(self) -> None:
        while True:
            try:
                posted = self._posted.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                self._end_unused()
                continue
            if posted is None:
                return
            # The receiver notices the end; a value that cannot be sent affects no other caller.
            with contextlib.suppress(OSError, ForkError):
                self._channel.send(posted)

    def _receive(self) -> None:
        reason = ""
        try:
            while (message := self._channel.receive()) is not None:
                if "number" in message:
                    self._answer(message["number"], message)
                else:
                    self._lost(str(message["lost"]), str(message["reason"]))
        except OSError:
            pass  # as an end without an error
        except (ProtocolError, KeyError, TypeError) as error:
            reason = f"it sent what it may not ({error})"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        quote = f"; it said: {self._stderr[-1]}" if self._stderr else ""
        self._end(reason or f"it ended with exit code {self._process.poll()}{quote}")
        self._channel.close()
        self.wait()

    def _end(self, reason: str) -> None:
        self.ended = self.ended or reason
        self._posted.put(None)
        self._lost("", f"Ray's placer process: {self.ended}")
        for number in list(self._pending):
            self._answer(number, None)

    def _read_errors(self) -> None:
        stream: Any = self._process.stderr
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._stderr.append(line.decode(errors="replace").strip()[:500])
        stream.close()

    # -- the end --

    def close(self) -> None:
        """End the placer, its supervisors and their sandboxes. Idempotent."""
        if not self.owner.inherited:
            self.ended = self.ended or "it was closed"
            self._channel.close()

    def wait(self, seconds: float = _EXIT_SECONDS) -> None:
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

    def use(self, user: object) -> bool:
        """Note a user until it is garbage or leaves :attr:`users`; return whether this one runs."""
        with self._users_lock:
            if not self.ended:
                self.users.add(user)
                self._used_at = time.monotonic()
            return not self.ended

    def _end_unused(self) -> None:
        with self._users_lock:
            if self.users:
                self._used_at = time.monotonic()
            elif time.monotonic() - self._used_at > _LINGER_SECONDS:
                self.close()

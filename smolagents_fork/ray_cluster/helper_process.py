"""Host side of the helper process: one for each address, shared and counted."""

from __future__ import annotations

import atexit
import contextlib
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
from typing import Any

from ..errors import EngineUnavailableError, ForkError, ProtocolError
from ..forks import ForkSafeLock, Owner, forget, keep_open, reset_in_child
from .head_check import check_head
from .links.failure_data import failure_of
from .links.helper_frames import FrameSocket
from .token_errors import names_token, token_refused

__all__ = [
    "BOOTSTRAP",
    "HelperProcess",
    "released",
    "running_helper",
    "shared_helper",
    "stop_helpers",
]

#: Program of a helper; its command line tells it from other processes.
BOOTSTRAP = (
    "import json, sys\n"
    "number, path = json.loads(sys.argv[1])\n"
    "sys.path[:] = path\n"
    "from smolagents_fork.ray_cluster.helper import helper_main\n"
    "helper_main.main(number)\n"
)
# Time an unused helper stays, for the next executor to use, in seconds.
_LINGER_SECONDS = 5.0
# Limits of the steps of a connection, in seconds. The first imports Ray; it and the last take a
# second or two, and much longer on a busy machine.
_STEP_SECONDS = {"": 180.0, "asking": 20.0, "answered": 60.0}
_STEP_MEANING = {
    "": "was not reached: Ray's helper process did not import Ray",
    "asking": "accepts connections and did not answer",
    "answered": "answered, and Ray did not connect",
}
# Beyond the time that the helper itself waits, in seconds.
_GRACE_SECONDS = 5.0
_EXIT_SECONDS = 5.0
_KILLED_SECONDS = 30.0
_KEPT_LINES = 30
# Times of calls that wait to be sent; the oldest are dropped.
_MOST_CALLS = 10_000


class _Request:
    def __init__(self, number: int) -> None:
        self.number = number
        self.done = threading.Event()
        self.value: Any = None
        self.error: ForkError | None = None


class HelperProcess:
    """A helper process that is connected to one cluster.

    Args:
        address: of the cluster's head.
        seconds: that the head may take to accept a connection and to say something.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self.address = address
        self.owner = Owner()
        #: Why it ended; empty while it runs.
        self.ended = ""
        #: Those who use it; a set, because a finaliser may leave without a lock.
        self.users: set[object] = set()
        self.unused_since = time.monotonic()
        #: Supervisors that no direct connection reaches from here.
        self.indirect: set[str] = set()
        #: Step of the connection that began last, and when.
        self._step = ("", time.monotonic())
        self._lock = threading.RLock()
        self._requests: dict[int, _Request] = {}
        self._number = 0
        self._lost: dict[str, str] = {}
        self._watchers: dict[str, list[weakref.WeakMethod[Callable[[str], None]]]] = {}
        self._stderr: deque[str] = deque(maxlen=_KEPT_LINES)
        self._calls: deque[tuple[str, str, float]] = deque(maxlen=_MOST_CALLS)
        self._outgoing: queue.SimpleQueue[tuple[dict[str, Any], int | None] | None]
        self._outgoing = queue.SimpleQueue()
        self._start()
        try:
            self._connect(seconds)
        except BaseException:
            self.close()
            # It may wait for Ray, which has nothing to lose yet.
            self.wait(0.0)
            raise

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        arguments = json.dumps([theirs.fileno(), sys.path])
        try:
            self._process = subprocess.Popen(
                # Isolated: modules in the current folder may be anybody's.
                [sys.executable, "-I", "-X", "utf8", "-c", BOOTSTRAP, arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()], start_new_session=True,
                env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise EngineUnavailableError(f"Ray's helper process did not start: {error}") from error
        finally:
            theirs.close()
        self._kept = (ours, self._process)
        keep_open(self._kept)
        self._frames = FrameSocket(ours)
        for work in (self._read_errors, self._receive, self._write):
            threading.Thread(target=work, name="smolagents-fork-ray", daemon=True).start()

    def _connect(self, seconds: float) -> None:
        request = self.begin("connect", address=self.address)
        # While the helper imports Ray.
        check_head(self.address, seconds)
        while not request.done.wait(0.05):
            lines = list(self._stderr)
            if any(map(names_token, lines)):  # Ray only logs it, and keeps trying
                raise token_refused(self.address)
            step, since = self._step
            if time.monotonic() - since > _STEP_SECONDS[step]:
                said = f": {lines[-1]}" if lines else ""
                raise EngineUnavailableError(
                    f"the head of the Ray cluster at {self.address} {_STEP_MEANING[step]} within "
                    f"{_STEP_SECONDS[step]:.0f} s{said}"
                )
        if request.error is not None:
            raise request.error

    # -- requests --

    def begin(self, op: str, descriptor: int | None = None, **arguments: Any) -> _Request:
        """Send a request and return without waiting.

        Args:
            op: its name.
            descriptor: goes with it, and is closed here once it has gone.
            **arguments: plain data.
        """
        with self._lock:
            self._number += 1
            number = self._number
            request = _Request(number)
            self._requests[number] = request
            if self.ended:
                # Nobody reads the queue any more.
                self._fail(number)
                if descriptor is not None:
                    os.close(descriptor)
                return request
            frame = {"id": number, "op": op, "arguments": arguments}
            if descriptor is not None:
                frame["descriptor"] = True
            self._outgoing.put((frame, descriptor))
        return request

    def ask(self, op: str, seconds: float, descriptor: int | None = None, **arguments: Any) -> Any:
        """Carry out a request and return its value.

        Args:
            op: its name.
            seconds: that the helper waits at most.
            descriptor: see :meth:`begin`.
            **arguments: plain data.

        Raises:
            EngineUnavailableError: the helper has ended, or does not answer.
            ForkError: the request failed; says why.
        """
        request = self.begin(op, descriptor, **arguments)
        if not request.done.wait(seconds + _GRACE_SECONDS):
            with self._lock:
                self._requests.pop(request.number, None)
            raise EngineUnavailableError(
                f"Ray's helper process for the cluster at {self.address} did not answer within "
                f"{seconds + _GRACE_SECONDS:.0f} s"
            )
        if request.error is not None:
            raise request.error
        return request.value

    def post(self, op: str, **arguments: Any) -> None:
        """Send a request whose answer nobody waits for; safe in a finaliser."""
        self._outgoing.put(({"id": 0, "op": op, "arguments": arguments}, None))

    def record_call(self, supervisor: str, tenant: str, seconds: float) -> None:
        """Take the time of a call; :meth:`send_calls` sends it later, with those of others.

        Args:
            supervisor: id of the sandbox's.
            tenant: empty for none.
            seconds: the time.
        """
        self._calls.append((supervisor, tenant, seconds))

    def send_calls(self) -> None:
        """Send the times of calls since the last time; one thread calls this."""
        calls = [self._calls.popleft() for _ in range(len(self._calls))]
        if calls:
            self.post("record_calls", calls=calls)

    def _write(self) -> None:
        while (item := self._outgoing.get()) is not None:
            frame, descriptor = item
            try:
                self._frames.send(frame, descriptor)
            except (OSError, ForkError):
                # The receiver notices the end; a value that cannot be sent has no answer.
                with self._lock:
                    self._fail(frame["id"], f"{frame['op']} could not be sent")
            finally:
                if descriptor is not None:
                    os.close(descriptor)

    def _receive(self) -> None:
        reason = ""
        try:
            while (frame := self._frames.receive()) is not None:
                self._took(frame)
        except (ProtocolError, KeyError, TypeError) as error:
            reason = f"it sent what it may not ({error})"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        said = f"; it said: {self._stderr[-1]}" if self._stderr else ""
        self._end(reason or f"it ended with exit code {self._process.poll()}{said}")

    def _took(self, frame: dict[str, Any]) -> None:
        if frame.get("event") in _STEP_SECONDS:
            self._step = (frame["event"], time.monotonic())
            return
        if frame.get("event") == "lost":
            self._give_up(frame["supervisor"], str(frame["reason"]))
            return
        with self._lock:
            request = self._requests.pop(frame["id"], None)
        if request is not None:
            if "error" in frame:
                request.error = failure_of(frame["error"])
            else:
                request.value = frame["ok"]
            request.done.set()
        elif type(frame.get("ok")) is dict and "sandbox" in frame["ok"]:
            # Nobody waits for this start any more.
            self.post("remove", sandbox=frame["ok"]["sandbox"])

    def _fail(self, number: int, why: str = "") -> None:
        """Fail a request. The caller has the lock."""
        request = self._requests.pop(number, None)
        if request is not None:
            request.error = EngineUnavailableError(
                f"the Ray cluster at {self.address} is lost: "
                f"{why or f'the helper process: {self.ended}'}"
            )
            request.done.set()

    def _end(self, reason: str) -> None:
        with self._lock:
            self.ended = self.ended or reason
            for number in list(self._requests):
                self._fail(number)
            names = list(self._watchers)
        for name in names:
            self._give_up(name, f"Ray's helper process: {self.ended}")

    def _read_errors(self) -> None:
        stream: Any = self._process.stderr
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._stderr.append(line.decode(errors="replace").strip()[:500])
        stream.close()

    # -- supervisors --

    def watch(self, supervisor: str, on_lost: Callable[[str], None]) -> None:
        """Have a method called, with the reason, when a supervisor is given up.

        Args:
            supervisor: its id.
            on_lost: a bound method, whose object is not kept alive.
        """
        with self._lock:
            reason = self._lost.get(supervisor) or self.ended
            if not reason:
                found = self._watchers.setdefault(supervisor, [])
                found[:] = [one for one in found if one() is not None]
                found.append(weakref.WeakMethod(on_lost))
                return
        on_lost(reason)

    def _give_up(self, supervisor: str, reason: str) -> None:
        with self._lock:
            self._lost[supervisor] = reason
            watchers = self._watchers.pop(supervisor, [])
        for watcher in watchers:
            on_lost = watcher()
            if on_lost is not None:
                on_lost(reason)

    # -- the end --

    def close(self) -> None:
        """End the helper, its supervisors and their sandboxes. Idempotent."""
        if self.owner.inherited:
            return
        with self._lock:
            self.ended = self.ended or "it was closed"
            self._outgoing.put(None)
        self._frames.close()

    def wait(self, seconds: float) -> bool:
        """Wait for the process to end; return whether it has.

        Args:
            seconds: to wait at most; then it is killed.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILLED_SECONDS)
            return False
        finally:
            forget(self._kept)
        return True


_helpers: dict[str, HelperProcess] = {}
_helpers_lock = ForkSafeLock()
# For the time of a connection, which keeps no other cluster waiting.
_address_locks: dict[str, threading.RLock] = {}


def shared_helper(address: str, seconds: float, user: object) -> HelperProcess:
    """Return the helper of a cluster, started if necessary.

    Args:
        address: of the cluster's head.
        seconds: see :class:`HelperProcess`.
        user: keeps it running until :func:`released`.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """
    with _helpers_lock:
        lock = _address_locks.setdefault(address, threading.RLock())
    with lock:
        with _helpers_lock:
            found = running_helper(address)
            if found is not None:
                found.users.add(user)
                return found
        found = HelperProcess(address, seconds)
        found.users.add(user)
        with _helpers_lock:
            _helpers[address] = found
        threading.Thread(
            target=_linger, args=(found,), name="smolagents-fork-ray", daemon=True
        ).start()
        return found


def running_helper(address: str) -> HelperProcess | None:
    """Return the helper of a cluster if it runs.

    Args:
        address: of the cluster's head.
    """
    with _helpers_lock:
        found = _helpers.get(address)
    return found if found is not None and not found.ended else None


def released(helper: HelperProcess, user: object) -> None:
    """Give a helper back; it ends when it has had no user for a few seconds."""
    helper.unused_since = time.monotonic()
    helper.users.discard(user)


def _linger(helper: HelperProcess) -> None:
    while not helper.ended:
        time.sleep(0.5)
        helper.send_calls()
        with _helpers_lock:
            unused = time.monotonic() - helper.unused_since
            if not helper.users and unused > _LINGER_SECONDS:
                helper.close()
    with _helpers_lock:
        if _helpers.get(helper.address) is helper:
            del _helpers[helper.address]
    helper.close()
    helper.wait(_EXIT_SECONDS)


def stop_helpers() -> None:
    """End every helper of this process."""
    with _helpers_lock:
        helpers = list(_helpers.values())
        _helpers.clear()
    for helper in helpers:
        helper.close()
    for helper in helpers:
        helper.wait(_EXIT_SECONDS)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's helpers."""
    _address_locks.clear()
    _helpers.clear()


atexit.register(stop_helpers)

"""Confined children on a node of the cluster, as an executor on the host uses them."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
from collections.abc import Iterable
from typing import Any

from ..codec import decode
from ..deadline import Deadline
from ..errors import (
    DecodeError,
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
)
from ..forks import forget, keep_open
from ..guest.frame_stream import FrameStream
from ..guest.frames import Frame, Kind, of_relay
from ..guest.guest_process import StreamedGuest, remaining_text
from ..process.child_places import ChildFiles, ChildRequest
from ..results import ExecutorStats, FileInfo
from .cluster_client import Cluster, RemoteSandbox
from .links.container_data import file_infos_of, stats_of
from .reservation import Reservation

__all__ = ["RemoteChild", "RemoteChildren"]

_PURPOSE = "child"
_PIECE = 1 << 20
_FILE_SECONDS = 60.0
# Starts of a child, and the pause in between, in seconds.
_TRIES = 3
_AGAIN_SECONDS = 0.5
# Causes of an end that another sandbox does not have.
_GONE = ("node", "removed")


class RemoteChildren:
    """A sandbox on a node, whose children share a folder there.

    Args:
        cluster: closed with this object.
        reservation: of the supervisor.
        request: what the children may do.
        tenant: empty for none.
    """

    def __init__(
        self, cluster: Cluster, reservation: Reservation, request: ChildRequest, tenant: str
    ) -> None:
        self._cluster = cluster
        self._reservation = reservation
        self._request = request
        self._tenant = tenant
        self._sandbox: RemoteSandbox | None = None

    @property
    def described(self) -> str:
        """Sandbox, node and tenant; empty before the first start."""
        return "" if self._sandbox is None else str(self._sandbox)

    @property
    def folder(self) -> str | None:
        """Path of the folder on the node."""
        if self._sandbox is None:
            return None
        folder = self._sandbox.info.get("folder")
        return folder if isinstance(folder, str) else None

    def start(self, kinds: dict[Kind, int]) -> RemoteChild:
        """Fork a child in the sandbox; make the sandbox, or another if its node is lost.

        Args:
            kinds: frames that are accepted from the child.
        """
        deadline = Deadline(self._request.start_seconds)
        for left in reversed(range(_TRIES)):
            sandbox = self._sandbox
            try:
                if sandbox is None or sandbox.lost:
                    sandbox = self._new_sandbox(deadline.at_most(self._request.start_seconds))
                return self._child(sandbox, kinds, deadline)
            except SandboxDiedError as error:
                # No program has run in it.
                self._forget()
                if error.cause not in _GONE or not left or deadline.expired():
                    raise ExecutorStartError(f"the sandbox did not start: {error}") from error
                time.sleep(_AGAIN_SECONDS)
        raise AssertionError("the last try returns or raises")

    def _new_sandbox(self, seconds: float) -> RemoteSandbox:
        self._forget()
        request = self._request
        bounds = dataclasses.asdict(request.bounds)
        for name in ("folder", "readable", "kernel"):
            del bounds[name]
        options = {
            "imports": list(request.imports),
            "readable": list(request.readable),
            "bounds": bounds,
            "max_value_bytes": request.max_value_bytes,
        }
        self._sandbox = self._cluster.start(
            self._reservation,
            options,
            tenant=self._tenant,
            purpose=_PURPOSE,
            timeout=max(1.0, seconds),
        )
        return self._sandbox

    def _child(
        self, sandbox: RemoteSandbox, kinds: dict[Kind, int], deadline: Deadline
    ) -> RemoteChild:
        left = max(1.0, deadline.at_most(self._request.start_seconds))
        child = RemoteChild(sandbox, sandbox.open_stream(_PURPOSE, timeout=left), kinds)
        try:
            child.begin(Deadline(left))
        except BaseException:
            child.close()
            raise
        return child

    def _forget(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.remove()

    def files(self) -> ChildFiles:
        """Return the files of the folder on the node."""
        if self._sandbox is None:
            raise ExecutorStartError("the sandbox has not been started")
        return RemoteFolder(self._sandbox)

    def stats(self, pid: int | None) -> ExecutorStats:
        """Return the child's resource use now."""
        if self._sandbox is None or pid is None:
            raise ExecutorStartError("the sandbox has not been started")
        return stats_of(self._sandbox.call("stats", {}))

    def remove(self) -> None:
        """Remove the sandbox and give the cluster back."""
        self._forget()
        self._cluster.close()


class RemoteFolder:
    """The folder of a sandbox on a node.

    Args:
        sandbox: that has it.
    """

    def __init__(self, sandbox: RemoteSandbox) -> None:
        self._sandbox = sandbox

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{path} in {self._sandbox}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`ChildFiles`."""
        part = ""
        position = 0
        for piece in pieces:
            arguments = {
                "path": path, "data": bytes(piece), "part": part, "position": position, "size": size
            }  # fmt: skip
            part = self._sandbox.call("write", arguments, timeout=_FILE_SECONDS)
            position += len(piece)
        if position != size:
            raise ExecutorError(f"{size - position} bytes are missing from its content")

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`ChildFiles`."""
        self._sandbox.call("make_folder", {"path": path}, timeout=_FILE_SECONDS)

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`ChildFiles`."""
        found = bytearray()
        while True:
            arguments = {"path": path, "position": len(found), "max_bytes": max_bytes}
            piece = self._sandbox.call("read", arguments, timeout=_FILE_SECONDS)
            if type(piece) is not bytes or len(found) + len(piece) > max_bytes:
                raise ProtocolError(f"a file of more than {max_bytes} bytes, or none")
            found += piece
            if len(piece) < _PIECE:
                return bytes(found)

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :class:`ChildFiles`."""
        found = self._sandbox.call("list_files", {"path": path}, timeout=_FILE_SECONDS)
        return file_infos_of(found)


class RemoteChild(StreamedGuest):
    """A child on a node, whose frames come through a stream; see :class:`GuestProcess`.

    Args:
        sandbox: that it runs in.
        stream: to its relay; closed with this object.
        kinds: frames that are accepted from it.
    """

    def __init__(
        self, sandbox: RemoteSandbox, stream: socket.socket, kinds: dict[Kind, int]
    ) -> None:
        self.pid = 0
        self._sandbox = sandbox
        self._connection = stream
        super().__init__(FrameStream(stream, {**kinds, **of_relay()}))
        self._closed = False
        self._killed = False
        self._death: SandboxDiedError | None = None
        keep_open((stream,))

    def begin(self, deadline: Deadline) -> None:
        """Wait until the child has been forked.

        Args:
            deadline: for that.

        Raises:
            SandboxDiedError: it did not start, or its node was lost.
            ExecutorStartError: no answer in time.
        """
        while (frame := self.turn(deadline.at_most(1.0))) is None:
            if deadline.expired():
                raise ExecutorStartError(
                    f"{self._sandbox}: its child did not start within {deadline.seconds:.0f} s"
                )
        if frame.kind is not Kind.STARTED:
            raise ProtocolError(f"{self._sandbox}: a {frame.kind.name} frame before STARTED")
        pid = _decoded(frame.body)
        if type(pid) is not int:
            raise ProtocolError(f"{self._sandbox}: a STARTED frame has a process number")
        self.pid = pid

    def turn(self, seconds: float) -> Frame | None:
        """Send what the relay reads, and return a frame that is complete."""
        try:
            frame = self._stream.turn(seconds)
        except OSError as error:
            raise self.death() from error
        if frame is not None and frame.kind is Kind.ENDED:
            raise self._ended(frame.body)
        return frame

    def _ended(self, body: bytes | bytearray) -> SandboxDiedError | ProtocolError:
        found = _decoded(body)
        if type(found) is not list or [type(one) for one in found] != [str, str]:
            raise ProtocolError(f"{self._sandbox}: an ENDED frame has a cause and a message")
        cause, message = found
        text = f"{self._sandbox}: {message}"
        if cause == "protocol":
            self._death = SandboxDiedError(text, cause="connection")
            return ProtocolError(text)
        self._death = SandboxDiedError(text, cause=cause)
        return self._death

    @property
    def ended(self) -> bool:
        """True if the child is known to have ended."""
        if self._death is None and not self._closed:
            # An idle child sends nothing; what is there is its end, or late output before it.
            try:
                data = self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return bool(self._sandbox.lost)
            except OSError:
                data = b""
            if not data:
                return True
            if data[0] == Kind.ENDED and not self._stream.partial:
                end = Deadline(1.0)
                with contextlib.suppress(SandboxDiedError, ProtocolError):
                    while not end.expired():
                        self.turn(end.at_most(1.0))
        return self._death is not None or self._closed

    def death(self) -> SandboxDiedError:
        """Return the error that describes the end; a child still running is killed."""
        if self._death is None and not self._closed:
            # Its relay says why, unless its node is lost.
            end = Deadline(2.0)
            with contextlib.suppress(OSError, ProtocolError):
                while self._death is None and not end.expired():
                    frame = self._stream.turn(end.at_most(0.1))
                    if frame is not None and frame.kind is Kind.ENDED:
                        self._ended(frame.body)
        if self._death is None:
            reason = "" if self._killed else self._sandbox.why_lost()
            if not reason:
                reason = f"the connection to its process {self.pid} has ended"
            # Without a last word of the relay, nobody knows how far the code has run.
            cause = "connection" if self._killed else "node"
            self._death = SandboxDiedError(f"{self._sandbox}: {reason}", cause=cause)
            self.kill()
        return self._death

    def record_call(self, seconds: float) -> None:
        """Record the time of a run; see :meth:`RemoteSandbox.record_call`."""
        self._sandbox.record_call(seconds)

    def remaining_text(self) -> str:
        """Return all remaining text of a child that has ended, or is about to end."""
        return remaining_text(self, self._decoder, 1.0)

    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; from any thread."""
        self._post(Kind.INTERRUPT, run)

    def kill(self) -> None:
        """Kill the child; from any thread."""
        self._killed = True
        self._post(Kind.KILL, 0)

    def _post(self, kind: Kind, run: int) -> None:
        with contextlib.suppress(OSError):
            self._stream.post(kind, run)

    def close(self) -> None:
        """Kill the child and release all resources. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.kill()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        forget((self._connection,))


def _decoded(body: bytes | bytearray) -> Any:
    try:
        return decode(bytes(body), path="frame")
    except DecodeError as error:
        raise ProtocolError(f"a frame of a relay that cannot be read: {error}") from error

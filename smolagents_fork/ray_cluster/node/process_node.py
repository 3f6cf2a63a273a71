"""Process sandboxes on a node: a folder, and a confined child for each stream."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from ...codec import encode
from ...deadline import Deadline
from ...distributions.import_names import import_names, missing_packages
from ...errors import ConfigurationError, ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ...folders.removal import discard_tree
from ...guest.frame_stream import FrameStream
from ...guest.frames import Kind, from_guest, packed, to_relay
from ...process.child import Child
from ...process.child_figures import child_figures
from ...process.confinement_report import Bounds
from ...process.sandbox_paths import Layout, layout_for
from ...process.spawn import spawn, stop_fork_servers
from ...sandboxes.cluster_owner import ClusterOwner
from ..links.thread_priority import use_normal_priority
from .folder_pieces import FolderPieces
from .watched_folder import WatchedFolder

__all__ = ["ProcessKind", "ProcessSandbox"]

_SLICE = 0.05
# Time the host may take to read what is sent to it, in seconds; more at a breakpoint.
_SEND_SECONDS = 3600.0
_START_SEND_SECONDS = 60.0
# Frames of the host that are read before the child has the first of them.
_MOST_WAITING = 16
# Frames of the child that are passed on before the host is read again.
_FRAMES_AT_ONCE = 64


class ProcessKind:
    """Starts process sandboxes.

    Args:
        owner: the supervisor.
    """

    def __init__(self, owner: ClusterOwner) -> None:
        del owner
        self._folder = WatchedFolder()

    def start(self, sandbox: str, options: dict[str, Any]) -> ProcessSandbox:
        """Make the folder of a sandbox; each of its streams gets a child."""
        imports = list(options["imports"])
        if message := missing_packages(imports):
            raise ConfigurationError(f"on this node: {message} Every node needs the same packages.")
        layout = layout_for(
            import_names(imports), options["readable"], network=options["bounds"]["network"]
        )
        folder = os.path.join(self._folder.path, sandbox)
        os.mkdir(folder, 0o700)
        bounds = Bounds(folder=folder, **options["bounds"])
        return ProcessSandbox(layout, bounds, options["max_value_bytes"])

    def close(self) -> None:
        """End the fork servers and remove the folder."""
        stop_fork_servers()
        self._folder.close()


class ProcessSandbox:
    """A folder, and at most one child at a time.

    Args:
        layout: where a child finds modules.
        bounds: limits of a child.
        max_value_bytes: largest encoded value in either direction.
    """

    def __init__(self, layout: Layout, bounds: Bounds, max_value_bytes: int) -> None:
        self._layout = layout
        self._bounds = bounds
        self._kinds = from_guest(max_value_bytes, max_value_bytes)
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._closed = False
        self._files = FolderPieces(bounds.work_folder)
        self.info = {"folder": bounds.work_folder}

    def serve(self, stream: socket.socket, purpose: str) -> None:
        """Fork a child and relay its frames until it, or the stream, ends."""
        if purpose != "child":
            return
        try:
            child = spawn(self._layout, self._bounds, self._kinds)
        except ForkError as error:
            body = _last_word(SandboxDiedError(f"the child did not start: {error}"))
            with contextlib.suppress(OSError):
                stream.settimeout(_START_SEND_SECONDS)
                stream.sendall(packed(Kind.ENDED, 0, body))
            return
        with self._lock:
            older, self._child = self._child, child
            closed = self._closed
        if older is not None:
            older.kill()
        try:
            if not closed:
                # Not before the child, which computes and keeps the low priority.
                use_normal_priority()
                GuestRelay(child, stream).run()
        finally:
            with self._lock:
                if self._child is child:
                    self._child = None
            child.close()

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Read or write a file of the folder, or return figures of the child."""
        if method == "stats":
            with self._lock:
                pid = None if self._child is None else self._child.pid
            return vars(child_figures(pid, self._bounds.memory_bytes))
        if method not in FolderPieces.METHODS:
            raise ExecutorError(f"a process sandbox has no request {method!r}")
        work: Callable[..., Any] = getattr(self._files, method)
        return work(**arguments)

    def close(self) -> None:
        """Kill the child and remove the folder."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            child.kill()
        self._files.close()
        discard_tree(self._bounds.folder)


class GuestRelay:
    """Relays frames between a child and a stream, in one thread.

    Interrupts are read at any time, also while a long frame waits for its reader.

    Args:
        child: its frames are checked here as on one machine.
        stream: to the host.
    """

    def __init__(self, child: Child, stream: socket.socket) -> None:
        self._child = child
        self._host = FrameStream(stream, to_relay())
        child.watch(stream)
        # Frames that were put since the child had read all.
        self._put = 0

    def run(self) -> None:
        """Relay until one of the two ends."""
        self._host.put(Kind.STARTED, 0, encode(self._child.pid))
        reading = Deadline(_SEND_SECONDS)
        try:
            with contextlib.suppress(OSError):
                while not reading.expired():
                    self._from_host()
                    if self._host.unsent:
                        continue  # the child waits, and not its text in this process
                    reading = Deadline(_SEND_SECONDS)
                    self._from_child()
        except (SandboxDiedError, ProtocolError) as error:
            self._end(error)

    def _from_host(self) -> None:
        """Pass on what the host has sent; interrupts are obeyed at once.

        Raises:
            OSError: the host is gone.
        """
        if not self._child.unsent:
            self._put = 0
        while self._put < _MOST_WAITING:
            frame = self._host.turn(0)
            if frame is None:
                if self._host.idle or self._host.unsent:
                    return
            elif frame.kind is Kind.INTERRUPT:
                self._child.interrupt(frame.run)
            elif frame.kind is Kind.KILL:
                self._child.kill()
            else:
                self._child.put(frame.kind, frame.run, frame.body)
                self._put += 1

    def _from_child(self) -> None:
        """Pass on what the child has sent and printed; not without end, for the host's sake."""
        seconds = _SLICE
        for _ in range(_FRAMES_AT_ONCE):
            frame = self._child.turn(seconds)
            seconds = 0
            if frame is None:
                if self._child.idle:
                    return
            elif frame.kind is Kind.OUTPUT:
                self._put_text(self._child.text_of(frame), frame.run)
            else:
                self._host.put(frame.kind, frame.run, frame.body)

    def _end(self, error: ForkError) -> None:
        self._child.kill()
        self._child.death()
        self._put_text(self._child.remaining_text())
        self._host.put(Kind.ENDED, 0, _last_word(error))
        reading = Deadline(_SEND_SECONDS)
        with contextlib.suppress(OSError, ProtocolError):
            while self._host.unsent and not reading.expired():
                self._host.turn(_SLICE)

    def _put_text(self, text: str, run: int = 0) -> None:
        body = text.encode("utf-8", "surrogatepass")
        for start in range(0, len(body), 1 << 15):
            self._host.put(Kind.OUTPUT, run, body[start : start + (1 << 15)])


def _last_word(error: ForkError) -> bytes:
    cause = error.cause if isinstance(error, SandboxDiedError) else "protocol"
    return encode([cause, str(error)])

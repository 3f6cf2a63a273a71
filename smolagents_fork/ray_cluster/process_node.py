"""Process sandboxes on a node: a folder, and a confined child for each stream."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..distributions.import_names import import_names, missing_packages
from ..errors import ConfigurationError, ForkError, SandboxDiedError
from ..folders.removal import discard_tree, remove_tree
from ..folders.user_folder import temporary_folder
from ..folders.work_folder import WorkFolder
from ..guest.frames import from_guest
from ..process.child import Child
from ..process.child_places import ChildRequest, child_figures
from ..process.child_relay import ChildRelay
from ..process.confinement_report import Bounds
from ..process.sandbox_paths import Layout, layout_for
from ..process.spawn import spawn, stop_fork_servers
from ..results import ExecutorStats
from .node_link import AnswerStream
from .node_supervisor import NodeSandbox

__all__ = ["ProcessKind"]

_SENT = str(Path(__file__).parents[2])


class ProcessKind:
    """Starts process sandboxes."""

    def __init__(self) -> None:
        # Of a supervisor that was killed, the next process of this user removes it.
        self._folder = temporary_folder("ray-")

    def start(self, sandbox: str, options: dict[str, Any]) -> NodeSandbox:
        """Make the folder of a sandbox; each of its streams gets a child."""
        request: ChildRequest = options["request"]
        if message := missing_packages(list(request.imports)):
            raise ConfigurationError(f"on this node: {message} Every node needs the same packages.")
        layout = layout_for(import_names(list(request.imports)), network=request.network)
        # This package goes before another version of it that the node has installed.
        layout = replace(layout, path=(_SENT, *layout.path))
        folder = os.path.join(self._folder, sandbox)
        os.mkdir(folder, 0o700)
        bounds = replace(request.bounds, folder=folder)
        children = _Children(layout, bounds, request.max_value_bytes)
        files = WorkFolder(bounds.work_folder)
        requests: dict[str, Callable[..., Any]] = {
            "list_files": files.list_files,
            "make_folder": files.make_folder,
            "open_stream": children.open_stream,
            "read_file": files.read_file,
            "stats": children.stats,
            "write_file": files.write_file,
        }
        return NodeSandbox({"folder": bounds.work_folder}, requests, children.close)

    def close(self) -> None:
        """End the fork servers and remove the folder."""
        stop_fork_servers()
        remove_tree(self._folder)


class _Children:
    """Children that share a folder, at most one at a time."""

    def __init__(self, layout: Layout, bounds: Bounds, max_value_bytes: int) -> None:
        self._layout = layout
        self._bounds = bounds
        self._kinds = from_guest(max_value_bytes, max_value_bytes)
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._closed = False

    def open_stream(self, timeout: float) -> AnswerStream:
        """Fork a child, whose frames are relayed until it, or the stream, ends.

        Args:
            timeout: the child's own limit is a fork server's.

        Raises:
            SandboxDiedError: it did not start.
        """
        del timeout
        try:
            child = spawn(self._layout, self._bounds, self._kinds)
        except ForkError as error:
            raise SandboxDiedError(f"the child did not start: {error}") from error
        with self._lock:
            older, self._child = self._child, child
            closed = self._closed
        if older is not None:
            older.kill()

        def serve(stream: socket.socket) -> None:
            try:
                if not closed:
                    ChildRelay(child, stream).run()
            finally:
                with self._lock:
                    if self._child is child:
                        self._child = None
                child.close()

        return AnswerStream(child.pid, serve)

    def stats(self) -> ExecutorStats:
        """Return the child's resource use now."""
        with self._lock:
            pid = None if self._child is None else self._child.pid
        return child_figures(pid, self._bounds.memory_bytes)

    def close(self) -> None:
        """Kill the child and remove the folder."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            child.kill()
        discard_tree(self._bounds.folder)

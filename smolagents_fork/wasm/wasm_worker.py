"""The guest's own part, run by Pyodide: connects its worker to the host through Deno's streams."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import io
import os
import random
import signal
import socket
import sys
import sysconfig
import time
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode
from ..errors import ProtocolError
from ..guest.frames import Kind
from ..guest.guest_worker import Link, Worker, warm_up
from ..interpreter.imports import DEFAULT_IMPORTS

__all__ = ["main", "prepare"]

# Imported into the snapshot: what programs import most.
_PREPARED = (
    *("base64", "csv", "dataclasses", "decimal", "enum", "fractions", "functools", "hashlib"),
    *("heapq", "io", "json", "operator", "pprint", "string", "textwrap", "typing", "uuid"),
)
# Longest sleep between two looks at signals, in seconds.
_SLEEP_SLICE = 0.05


def prepare() -> None:
    """Import and warm up what every guest needs, before the snapshot is taken."""
    for name in (*sorted(DEFAULT_IMPORTS), *_PREPARED):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _without_host()
    warm_up()


def main(
    read: Callable[[int], Any], write: Callable[[bytes], None], stopped_run: Callable[[], int]
) -> None:
    """Serve the host until it closes the connection.

    Args:
        read: as of :class:`Link`; gives a JavaScript array with ``to_bytes``.
        write: writes all of its argument to the host.
        stopped_run: gives the last run that the host has asked to stop; -1 when it has died.
    """
    _use_own_loops()
    # The snapshot has the state that its maker's generator had.
    random.seed()
    link = Link(lambda size: read(size).to_bytes(), lambda part: write(bytes(part)), stopped_run)
    link.send(Kind.ACCEPTED, 0)
    # The engine compiles a function at its first call, here while the host may not wait.
    warm_up()
    while (frame := link.receive()) is not None and frame.kind is Kind.PACKAGE:
        _install(frame.body)
        link.send(Kind.ACCEPTED, 0)
    if frame is None:
        return  # a pool's guest that no executor has taken
    if frame.kind is not Kind.SETUP:
        raise ProtocolError("the first frames must be PACKAGE and SETUP")
    options: Any = decode(frame.body)
    worker = Worker(link, options)
    signal.signal(signal.SIGINT, worker.stop_if_asked)
    link.send(Kind.READY, 0, encode({"python": sys.version.split()[0]}))
    worker.serve()


def _without_host() -> None:
    """Let calls fail as they do without permission.

    Pyodide's own would ask Deno in vain, which is the end of the process.
    """

    def refuse_sockets(*_arguments: object, **_keywords: object) -> Any:
        raise PermissionError(errno.EPERM, "WebAssembly has no sockets")

    def refuse_processes(*_arguments: object, **_keywords: object) -> Any:
        raise PermissionError(errno.EPERM, "WebAssembly has no processes")

    socket.socket.__init__ = refuse_sockets  # type: ignore[method-assign]
    os.system = refuse_processes

    def sleep(seconds: Any) -> None:
        # In slices: the engine's own sleep lasts to its end, whatever signal there is.
        end = time.monotonic() + seconds
        while (seconds_left := end - time.monotonic()) > 0:
            sleep_whole(min(seconds_left, _SLEEP_SLICE))

    sleep_whole, time.sleep = time.sleep, sleep
    # An event loop wakes itself through a pair, here of nothing: no thread and no signal wakes it.
    pair: Any = lambda *_arguments, **_keywords: (_Pipe(), _Pipe())  # noqa: E731
    socket.socketpair = pair


def _use_own_loops() -> None:
    """Let programs have event loops as elsewhere; the engine's own always runs."""
    asyncio._set_running_loop(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())


class _Pipe:
    """Stands for a socket of a pair."""

    def __init__(self) -> None:
        self._ends = os.pipe()

    def setblocking(self, _flag: bool) -> None:
        """Nothing is ever read."""

    def fileno(self) -> int:
        """Return the reading end."""
        return self._ends[0]

    def close(self) -> None:
        """Close both ends. Idempotent."""
        ends, self._ends = self._ends, (-1, -1)
        for number in ends:
            if number >= 0:
                os.close(number)

    def send(self, data: bytes) -> int:
        """Drop what would wake the loop, which looks by itself."""
        return len(data)


def _install(wheel: bytes | bytearray) -> None:
    """Unpack a wheel; programs of its own are left out, since nothing could start them."""
    target = sysconfig.get_path("purelib")
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for member in archive.infolist():
            root, _, rest = member.filename.partition("/")
            if root.endswith(".data"):
                scheme, _, member.filename = rest.partition("/")
                if scheme not in ("purelib", "platlib"):
                    continue
            archive.extract(member, target)
    importlib.invalidate_caches()

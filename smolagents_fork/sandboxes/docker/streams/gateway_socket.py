"""A socket in a file of this machine that the gateway of one container connects to.

An exec's stream passes the engine and its shim, which copy it 32 KB at a time. That is avoided
where engine and host process share a kernel. The host process listens on a socket (``unix(7)``)
whose file is mounted into the container, and the gateway connects to it before any code runs. The
mount is read-only, so the container can make nothing on this machine. The first connection closes
the socket, so code finds a file without a listener.

The file is in a folder of its own, in the one of this process that only this user may enter.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile

from ....folders.user_folder import temporary_folder
from ....system.forks import Owner, disconnect_in_child

__all__ = ["LABEL", "SOCKET_PATH", "GatewaySocket"]

#: Label of an image whose gateway connects; its value is the command of that gateway.
LABEL = "smolagents-fork.gateway"
#: Path of the socket in the container.
SOCKET_PATH = "/run/smolagents-fork.sock"

# A long array fills a larger buffer in fewer turns; the system caps it.
_BUFFER_BYTES = 1 << 20


class _KernelSocket(socket.socket):
    """A connection that its last owner may drop: a failed start has many places."""

    def __del__(self) -> None:
        self.close()


class GatewaySocket:
    """A listening socket for one container. Made by :meth:`open`.

    Args:
        folder: Folder that the socket's file is in, and nothing else.
    """

    def __init__(self, folder: str, listening: socket.socket) -> None:
        self._folder = folder
        self._listening = listening
        self._owner = Owner()
        disconnect_in_child(listening)
        self.path = listening.getsockname()

    @classmethod
    def open(cls) -> GatewaySocket | None:
        """Listen on a new socket; ``None`` where this machine cannot have one.

        Raises:
            ExecutorStartError: the folder for it is not this user's own.
        """
        if sys.platform != "linux":
            return None
        try:
            tempfile.gettempdir()
        except OSError:
            return None  # no folder may be written to
        folder = temporary_folder("s")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = os.path.join(folder, "s")
        try:
            listening.bind(path)  # which fails with a path of more than 107 bytes
            # The container's user is another one; nobody else enters the folder.
            os.chmod(path, 0o666)
            listening.listen(1)
        except OSError:
            listening.close()
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return cls(folder, listening)

    def accept(self, seconds: float) -> socket.socket | None:
        """Return the gateway's connection; ``None`` if it does not connect in time."""
        self._listening.settimeout(max(seconds, 0.001))
        try:
            accepted, _ = self._listening.accept()
        except OSError:
            return None
        connection = _KernelSocket(fileno=accepted.detach())
        disconnect_in_child(connection)
        for direction in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, direction, _BUFFER_BYTES)
        return connection

    def close(self) -> None:
        """Listen no longer, and remove the file; a connection stays. Idempotent.

        A forked child closes its copy of the socket and leaves the file to its parent.
        """
        self._listening.close()
        if not self._owner.inherited:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

"""Main process of the sandbox image: a Jupyter kernel gateway for one executor.

It forks the kernel from itself and listens while the kernel loads IPython. One loop passes messages
between clients (HTTP, WebSockets) and the kernel's ZeroMQ sockets. A kernel that ends is logged and
replaced by another fork. The gateway itself loads the standard library only: whatever a kernel
has loaded before its fork is copied when it is used, because use changes its count of references.

Settings come from the environment, with the names of Jupyter's packaged gateway: KG_IP, KG_PORT,
KG_AUTH_TOKEN. A client that listens on a socket itself, in a file that is mounted into the
container, is connected to at the start: KG_CLIENT_SOCKET is its path.
"""

import contextlib
import ctypes
import errno
import gc
import itertools
import os
import shutil
import signal
import socket
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE, *(path for path in sys.path if path != HERE)]

from gateway_clients import Client, Refused  # noqa: E402
from gateway_kernels import Forked, Kernel, note  # noqa: E402
from gateway_streams import Loop, Stream  # noqa: E402

sys.path.remove(HERE)

TOKEN = "KG_AUTH_TOKEN"
CLIENT_SOCKET = "KG_CLIENT_SOCKET"
# A host process looks for these words in the log.
UNREACHABLE = "the client's socket cannot be reached"
MOST_KERNELS = 16
# Connections without the token; the program in the kernel can make them.
MOST_UNAUTHENTICATED = 64
# Pause of accepting connections when there are no descriptors left.
PAUSE_SECONDS = 0.1


class Kernels:
    """The kernels by their ids. One is started before the first request, which gets it."""

    def __init__(self, loop, folder):
        self._loop, self._folder = loop, folder
        self._counter = itertools.count(1)
        self._kernels = {}
        self._unclaimed = self._started()

    def _started(self):
        kernel = Kernel(self._loop, str(uuid.uuid4()), self._folder, self._counter, self._forget)
        self._kernels[kernel.id] = kernel
        kernel.start()
        return kernel

    def _forget(self, kernel):
        self._kernels.pop(kernel.id, None)

    def create(self):
        """Return a kernel that no other request got."""
        kernel, self._unclaimed = self._unclaimed, None
        if kernel is not None and kernel.state != "dead":
            return kernel
        if len(self.all()) >= MOST_KERNELS:
            raise Refused(503, f"there are {MOST_KERNELS} kernels")
        return self._started()

    def get(self, name):
        """Return the kernel with this id; ``None`` without one, also when it was given up."""
        kernel = self._kernels.get(name)
        return None if kernel is None or kernel.state == "dead" else kernel

    def all(self):
        """List the kernels."""
        return [kernel for kernel in self._kernels.values() if kernel.state != "dead"]

    def remove(self, kernel):
        """End a kernel."""
        kernel.end()

    def reap(self):
        """Notice which processes have ended."""
        for kernel in list(self._kernels.values()):
            kernel.reap()


class Listener:
    """The clients: those that connect to an address, and one that is connected to.

    Args:
        loop: the event loop.
        kernels: the kernels.
        address: host and port to listen on.
        token: that clients have to send; empty for none.
    """

    def __init__(self, loop, kernels, address, token):
        self._loop, self._kernels, self._token = loop, kernels, token
        self._clients = {}
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
        listening.setblocking(False)
        self._accept_from(listening)

    def _accept_from(self, listening):
        def accept(_events):
            try:
                sock, _ = listening.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                    self._loop.watch(listening.fileno(), 0, None)
                    self._loop.call_later(PAUSE_SECONDS, watch)
                return
            self._limit_unauthenticated()
            try:
                self._serve(sock)
            except Exception as error:
                note(f"a client was refused: {error!r}")
                sock.close()

        def watch():
            self._loop.watch(listening.fileno(), 1, accept)

        watch()

    def _limit_unauthenticated(self):
        unauthenticated = [client for client in self._clients if not client.known]
        if len(unauthenticated) >= MOST_UNAUTHENTICATED:
            unauthenticated[0].close("too many connections without the token")

    def connect(self, path):
        """Connect to a client that listens; without one there are the other ways to come here."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(path)
            self._serve(sock)
        except OSError as error:
            sock.close()
            note(f"{UNREACHABLE}: {error.strerror}")

    def _serve(self, sock):
        client = Client(self._loop, self._kernels, self._token, self._forget)
        self._clients[client] = True
        try:
            client.begin(lambda *handlers: Stream(self._loop, sock, *handlers))
        except OSError:
            self._forget(client)
            raise

    def _forget(self, client):
        self._clients.pop(client, None)


def serve(address, token, client_socket):
    """Serve until a signal ends the process.

    Args:
        address: host and port to listen on.
        token: that clients have to send; empty for none.
        client_socket: path of a socket to connect to; empty for none.

    Raises:
        Forked: this is the process of a new kernel.
    """
    folder = tempfile.mkdtemp(prefix="kernel-gateway-")
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    loop = Loop()
    try:
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        kernels = Kernels(loop, folder)
        listener = Listener(loop, kernels, address, token)
        if client_socket:
            listener.connect(client_socket)

        def child_ended(_events):
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            kernels.reap()

        loop.watch(woken, 1, child_ended)
        loop.run()
    except Forked:
        # Not before: what is registered with the loop's descriptor is the gateway's too.
        loop.close()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def forget_token():
    """Take the token from the environment, also as other processes of this user see it."""
    token = os.environ.pop(TOKEN, "")
    if not token:
        return token
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat") as line:
            fields = line.read().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])
        memory = ctypes.string_at(start, end - start)
        position = memory.find(f"{TOKEN}={token}".encode())
        if position >= 0:
            ctypes.memset(start + position, ord("x"), len(TOKEN) + 1 + len(token))
    return token


def close_inherited(kept):
    """Close all descriptors but standard ones and ``kept``."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):
                os.close(int(name))


def rename():
    """Show this process as a kernel in lists of processes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat") as line:
            fields = line.read().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        ctypes.memset(start, 0, end - start)
        title = b"ipykernel"[: end - start - 1]
        ctypes.memmove(start, title, len(title))


def main():
    """Be the gateway; in a forked process, be the kernel."""
    token = forget_token()
    client_socket = os.environ.pop(CLIENT_SOCKET, "")
    address = (os.environ.get("KG_IP") or "127.0.0.1", int(os.environ.get("KG_PORT") or 8888))
    # What is there now is shared by all processes; a collection would write to it.
    gc.freeze()
    try:
        serve(address, token, client_socket)
    except Forked as forked:
        path, ready = forked.path, forked.ready
    del token
    gc.collect()
    close_inherited(ready)
    rename()
    sys.path.insert(0, HERE)
    import gateway_ipython

    sys.path.remove(HERE)
    # The program finds neither these modules nor, by their names, anything else than its own.
    for name in [name for name in sys.modules if name.startswith("gateway_")]:
        del sys.modules[name]
    gateway_ipython.run(path, ready)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(130)

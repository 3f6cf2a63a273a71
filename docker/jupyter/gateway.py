"""Main process of the sandbox image: a Jupyter kernel gateway for one executor.

It forks the kernel from itself and listens while the kernel loads IPython. One loop passes messages
between clients (HTTP, WebSockets) and the kernel's ZeroMQ sockets. A kernel that ends is logged and
replaced by another fork. The gateway itself loads the standard library only: whatever a kernel
has loaded before its fork is copied when it is used, because use changes its count of references.

Settings come from the environment, with the names of Jupyter's packaged gateway: KG_IP, KG_PORT,
KG_AUTH_TOKEN. In the same container, a client can also hand over its two descriptors: see
:class:`Listener`. A client that listens on a socket itself, in a file that is mounted into the
container, is connected to at the start: KG_CLIENT_SOCKET is its path.
"""

import contextlib
import ctypes
import errno
import fcntl
import gc
import itertools
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE, *(path for path in sys.path if path != HERE)]

from gateway_clients import Client, Refused  # noqa: E402
from gateway_kernels import Forked, Kernel, note  # noqa: E402
from gateway_streams import Loop, Stream, socket_stream  # noqa: E402

sys.path.remove(HERE)

TOKEN = "KG_AUTH_TOKEN"
CLIENT_SOCKET = "KG_CLIENT_SOCKET"
# A host process looks for these words in the log.
UNREACHABLE = "the client's socket cannot be reached"
MOST_KERNELS = 16
# Connections without the token; the program in the kernel can make them.
MOST_UNAUTHENTICATED = 64
# Time in which a relay has to send its descriptors.
RELAY_SECONDS = 10.0
# Pause of accepting connections when there are no descriptors left.
PAUSE_SECONDS = 0.1
# Linux's F_SETPIPE_SZ, which Python has a name for since 3.10, and the most that any user may set.
SET_PIPE_SIZE = 1031
PIPE_BYTES = 1 << 20


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


class Relay:
    """Connection of a process that has not sent its descriptors yet.

    Args:
        loop: the event loop.
        sock: the connection.
        take: called with the connection when the descriptors have arrived.
        on_end: called with this object before that, or when the connection is closed.
    """

    #: Whether a request had the token; as :class:`Client` has it.
    known = False

    def __init__(self, loop, sock, take, on_end):
        self._loop, self._sock, self._take = loop, sock, take
        self._forget = on_end
        self._late = None

    def begin(self):
        """Wait for the descriptors."""
        self._late = self._loop.call_later(RELAY_SECONDS, lambda: self.close("too late"))
        self._loop.watch(self._sock.fileno(), 1, self._arrived)

    def close(self, _reason):
        """Close the connection at once."""
        self._end_waiting()
        self._sock.close()

    def _arrived(self, _events):
        self._end_waiting()
        self._take(self._sock)

    def _end_waiting(self):
        self._late()
        self._loop.watch(self._sock.fileno(), 0, None)
        self._forget(self)


class Listener:
    """Sockets that clients connect to: TCP, and a socket of this machine's abstract names.

    Through the second, a process of the same user sends one byte with two descriptors, from which
    its client is read and to which it is written. So no byte passes through that process, which
    stays until the connection ends.
    """

    def __init__(self, loop, kernels, address, token):
        self._loop, self._kernels, self._token = loop, kernels, token
        self._clients = {}
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        local.bind(f"\0smolagents-fork-gateway-{address[1]}")
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        tcp = socket.socket(family, socket.SOCK_STREAM)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind(address)
        for sock, serve in ((local, self._serve_descriptors), (tcp, self._serve)):
            sock.listen(128)
            sock.setblocking(False)
            self._accept_from(sock, serve)

    def _accept_from(self, listening, serve):
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
                serve(sock)
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
        self._begin(lambda *handlers: socket_stream(self._loop, sock, *handlers))

    def _begin(self, make_stream):
        client = Client(self._loop, self._kernels, self._token, self._forget)
        self._clients[client] = True
        try:
            client.begin(make_stream)
        except OSError:
            self._forget(client)
            raise

    def _forget(self, client):
        self._clients.pop(client, None)

    def _serve_descriptors(self, sock):
        peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", peer)[1] not in (0, os.getuid()):
            sock.close()
            return
        sock.setblocking(False)
        relay = Relay(self._loop, sock, self._take_descriptors, self._forget)
        self._clients[relay] = True
        relay.begin()

    def _take_descriptors(self, sock):
        received = []
        try:
            _, received, _, _ = socket.recv_fds(sock, 1, 2)
            if len(received) != 2:
                raise OSError("not two descriptors")
            self._begin(lambda *handlers: self._over_descriptors(sock, received, *handlers))
        except OSError:
            for fd in received:
                with contextlib.suppress(OSError):
                    os.close(fd)
            sock.close()

    def _over_descriptors(self, sock, received, parser, on_end, on_full):
        reader, writer = received
        for fd in received:
            # Fewer turns for long messages, where the system allows it.
            with contextlib.suppress(OSError):
                fcntl.fcntl(fd, SET_PIPE_SIZE, PIPE_BYTES)

        def ended(reason):
            self._loop.watch(sock.fileno(), 0, None)
            sock.close()
            on_end(reason)

        stream = Stream(self._loop, reader, writer, parser, ended, on_full, [reader, writer])
        self._loop.watch(sock.fileno(), 1, lambda _events: stream.end("the relay has ended"))
        return stream


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

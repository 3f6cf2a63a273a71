"""Main process of the sandbox image: an IPython kernel that serves one client itself.

ipykernel runs in the main thread. In the loop of its control thread, tornado serves a WebSocket
with Jupyter's messages (the layout ``v1.kernel.websocket.jupyter.org``), and those of a kernel
gateway's REST calls that a client needs to find its kernel. A new client that has the token takes
over from the one before. When the kernel ends, so does this process; nothing starts it again.

A client that sends the header ``Received-Messages`` can lose its connection and go on over another:
see :class:`Conversation`. Until it does, the program's output waits.

It leaves out what only a person at a terminal or an editor uses: history, profile and
configuration files, debugger, heartbeat, subshells. C code that keeps the GIL keeps the
server from answering, too: the container's first process answers then.

Settings come from the environment, with the names of Jupyter's packaged gateway: KG_IP, KG_PORT,
KG_AUTH_TOKEN. KG_CLIENT_FD is the descriptor of a connection to a client, if there is one.
"""

import asyncio
import collections
import contextlib
import ctypes
import functools
import hmac
import itertools
import logging
import os
import socket
import struct
import sys
import threading
import traceback
import uuid

# The folder of this file, in which a program finds nothing.
sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]

import zmq  # noqa: E402
from ipykernel.control import ControlThread  # noqa: E402
from ipykernel.iostream import IOPubThread, OutStream  # noqa: E402
from ipykernel.ipkernel import IPythonKernel  # noqa: E402
from ipykernel.kernelapp import IPKernelApp  # noqa: E402
from IPython.core.profiledir import ProfileDir  # noqa: E402
from jupyter_client.session import Session  # noqa: E402
from tornado import httpserver, iostream, web, websocket  # noqa: E402
from traitlets.config import Config  # noqa: E402
from zmq.eventloop.zmqstream import ZMQStream  # noqa: E402

V1 = "v1.kernel.websocket.jupyter.org"
DELIMITER = b"<IDS|MSG>"
#: The server's socket by channel. The kernel's own are a ROUTER each, and a PUSH for iopub.
CHANNELS = {
    "shell": zmq.DEALER,
    "control": zmq.DEALER,
    "stdin": zmq.DEALER,
    "iopub": zmq.PULL,
}
MAX_MESSAGE_BYTES = 1 << 30
_MAX_PARTS = 1024
_MAX_BODY_BYTES = 1 << 20
# Bytes of one read, and those that the system takes before a writer waits for the client.
_CHUNK_BYTES, _SEND_BYTES = 1 << 17, 1 << 20
# Length in bytes up to which a message is joined to be sent at once.
_JOINED_BYTES = 65_536
# Messages of the kernel's output that wait for the client at each end; then their sender waits. Of
# the other channels none may wait for another, and the client sends few: 0 means unlimited.
_WAITING_MESSAGES = {"iopub": 16}
# Longest wait of the program for the server to send its output.
_SEND_OUTPUT_SECONDS = 10.0
# Header with the number of messages that its sender has received so far, in both directions.
_RECEIVED_HEADER = "Received-Messages"
# Bytes of sent messages that the client has not acknowledged; at more, the next one waits.
_UNACKNOWLEDGED_BYTES = 1 << 22
# Messages, or bytes of them, that are received before they are acknowledged.
_ACKNOWLEDGED_MESSAGES, _ACKNOWLEDGED_BYTES = 32, 1 << 16
_COUNT = struct.Struct("!Q")
# Size in bytes from which the C library maps memory, the largest that mallopt allows. A size set
# here is not adapted, so free memory goes back to the system. With less, long values take longer.
_M_MMAP_THRESHOLD, _MAPPED_BYTES = -3, 1 << 25
# Size in bytes of a message whose memory is given back, and the seconds without another until then.
_LONG_MESSAGE_BYTES, _TRIM_SECONDS = 1 << 20, 0.5


class Profile(ProfileDir):
    """Profile that has a name and no folder."""

    def check_dirs(self):
        """Create nothing: /tmp may be full, and no file of it is ever read."""


class Kernel(IPythonKernel):
    """IPython's kernel, without the debugger, which would load a package that is not there."""

    use_experimental_completions = False

    def start(self):
        """Answer requests; IPython's own method starts the debugger's task."""
        self.shell.exit_now = False
        super(IPythonKernel, self).start()


class Stream(OutStream):
    """Standard output or standard error of the program."""

    def flush(self):
        """Send the text; return when the client's socket has it, if the client reads.

        The server sends it in a thread of its own, which could no longer do so while C code that
        comes next keeps the GIL.
        """
        super().flush()
        Application.instance().send_output()


class Application(IPKernelApp):
    """ipykernel's application, started without its command line and files."""

    kernel_class = Kernel
    outstream_class = f"{__name__}.{Stream.__name__}"

    def prepare(self, token):
        """Create the kernel and its server, and the sockets between them, in this process."""
        self.session = Session(parent=self, key=b"")
        self.profile_dir = Profile()
        self.init_sockets()
        self.server = Server(self.context, token)
        self.init_io()
        self.init_signal()
        self.init_kernel()
        self.init_path()
        self.init_shell()
        sys.stdout.flush()
        sys.stderr.flush()

    def init_sockets(self):
        """Create the sockets and their threads, without those of debugger and subshells."""
        self.context = zmq.Context()
        self.shell_socket = self.bind("shell", zmq.ROUTER)
        self.control_socket = self.bind("control", zmq.ROUTER)
        self.stdin_socket = self.bind("stdin", zmq.ROUTER)
        self.control_thread = ControlThread(daemon=True)
        self.shell_channel_thread = None
        self.configure_tornado_logger()
        # Not a PUB socket, which drops messages when its reader is slow.
        iopub = self.bind("iopub", zmq.PUSH)
        self.iopub_thread = IOPubThread(iopub, pipe=True, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def bind(self, channel, kind):
        """Return the kernel's socket of a channel."""
        bound = self.context.socket(kind)
        bound.linger = 1000
        bound.sndhwm = bound.rcvhwm = _WAITING_MESSAGES.get(channel, 0)
        bound.bind(address(channel))
        return bound

    def send_output(self):
        """Have the server send what the kernel has published, and wait until it has.

        Does nothing in a forked child, where the server's thread does not run.
        """
        threads = (self.control_thread, self.iopub_thread.thread)
        if self.server.client is None or threading.current_thread() in threads:
            return
        if not all(thread.is_alive() for thread in threads):
            return
        sent = threading.Event()

        def send():
            loop = self.control_thread.io_loop
            loop.add_callback(self.server.go_on)
            loop.add_callback(sent.set)

        # After what a flush has had published: the thread does that later than the flush returns.
        self.iopub_thread.schedule(send)
        sent.wait(_SEND_OUTPUT_SECONDS)

    def init_kernel(self):
        """Create the kernel, which reads the shell channel in the main thread."""
        control = ZMQStream(self.control_socket, self.control_thread.io_loop)
        self.control_thread.start()
        self.kernel = self.kernel_class.instance(
            parent=self,
            session=self.session,
            control_stream=control,
            shell_stream=ZMQStream(self.shell_socket),
            control_thread=self.control_thread,
            iopub_thread=self.iopub_thread,
            iopub_socket=self.iopub_socket,
            stdin_socket=self.stdin_socket,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
        )
        self.displayhook.get_execution_count = lambda: self.kernel.execution_count


def address(channel):
    """Return the address of a channel's socket within this process."""
    return f"inproc://{channel}"


class Source:
    """The server's socket of a channel, in the loop of one thread.

    Args:
        channel: its name.
        kind: type of the socket.
        context: of the kernel's sockets.
    """

    def __init__(self, channel, kind, context):
        self.socket = context.socket(kind)
        # The same on all channels: the kernel asks for input where the request came from.
        self.socket.identity = b"client"
        self.socket.sndhwm = self.socket.rcvhwm = _WAITING_MESSAGES.get(channel, 0)
        self.socket.connect(address(channel))
        self._take = None

    def read(self, loop, take):
        """Have ``take()`` called with the parts of messages; it returns whether to go on."""
        self._take = take
        loop.add_reader(self.socket.getsockopt(zmq.FD), self.go_on)
        self.go_on()

    def go_on(self):
        """Read what has arrived. The descriptor tells of new messages only, and of none twice."""
        while self.socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            if not self._take(self.socket):
                return

    def send(self, parts, copy):
        """Send a message, which waits until the kernel reads it."""
        self.socket.send_multipart(parts, copy=copy)
        self.go_on()


class Conversation:
    """Messages to and from one client, over connections that follow one another.

    Both ends count the messages that they receive, and keep those that they have sent until the
    other end acknowledges them, by a pong whose payload is its count (RFC 6455, section 5.5.3, has
    such pongs, which nobody answers). When another connection takes the place of one that was
    lost, both say their counts in the header ``Received-Messages``, and what is missing is sent
    again.

    Args:
        session_id: of the client.
        resumable: whether the client acknowledges messages.
    """

    def __init__(self, session_id, resumable):
        self.session_id = session_id
        self.resumable = resumable
        #: Messages that have been received from the client.
        self.received = 0
        self._acknowledged = self._unacknowledged_bytes = 0
        # Messages, each in pieces, that the client has not acknowledged, and those that it has.
        self._kept = collections.deque()
        self._kept_bytes = self._forgotten = 0

    @property
    def is_full(self):
        """Tell whether the next message has to wait for an acknowledgement."""
        return self._kept_bytes >= _UNACKNOWLEDGED_BYTES

    def keep(self, pieces):
        """Keep a message that is sent."""
        if self.resumable:
            size = sum(map(len, pieces))
            self._kept.append((pieces, size))
            self._kept_bytes += size

    def forget(self, count):
        """Forget the messages that the client has received.

        Raises:
            ValueError: it cannot have received so many, or has forgotten some.
        """
        if not self._forgotten <= count <= self._forgotten + len(self._kept):
            raise ValueError(f"{count} messages cannot have been received")
        while self._forgotten < count:
            _, size = self._kept.popleft()
            self._kept_bytes -= size
            self._forgotten += 1

    def kept(self):
        """Return the messages that the client has not received."""
        return [pieces for pieces, _ in self._kept]

    def receive(self, size):
        """Count a message of the client; return whether it is to be acknowledged now."""
        self.received += 1
        self._unacknowledged_bytes += size
        return self.resumable and (
            self._unacknowledged_bytes >= _ACKNOWLEDGED_BYTES
            or self.received - self._acknowledged >= _ACKNOWLEDGED_MESSAGES
        )

    def acknowledge(self):
        """Return the frame that acknowledges all messages that have been received."""
        self._acknowledged, self._unacknowledged_bytes = self.received, 0
        return struct.pack("!BB", 0x8A, _COUNT.size) + _COUNT.pack(self.received)


class FreeMemory:
    """Memory of long messages, which the C library keeps for the next one.

    It goes back to the system when no long message has come for a while.
    """

    def __init__(self):
        # Other C libraries have no such function, and give memory back without being asked.
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._timer = None

    def note(self, size):
        """Note a message of ``size`` bytes."""
        if size < _LONG_MESSAGE_BYTES or self._trim is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_TRIM_SECONDS, self._trim, 0)


class Server:
    """The kernel's messages on a client's WebSocket. Used in the loop of one thread.

    Args:
        context: of the kernel's sockets.
        token: that requests must have; empty for none.
    """

    def __init__(self, context, token):
        self.kernel_id = str(uuid.uuid4())
        self.token = token
        self.client = None
        self.conversation = Conversation("", resumable=False)
        self.free_memory = FreeMemory()
        # Connected now: a PUSH socket without a reader waits for one.
        self._sources = {
            channel: Source(channel, kind, context) for channel, kind in CHANNELS.items()
        }
        # Descriptors that children of this process must not have.
        self.descriptors = {}

    async def serve(self, listening, connected):
        """Begin to serve clients, for as long as the process runs.

        Args:
            listening: socket that clients connect to.
            connected: socket of a client that is connected already, or ``None``.
        """
        routes = [
            (r"/api", Api),
            (r"/api/kernels", KernelList),
            (rf"/api/kernels/{self.kernel_id}", KernelModel),
            (rf"/api/kernels/{self.kernel_id}/channels", Channels),
        ]
        application = web.Application(
            [(path, handler, {"server": self}) for path, handler in routes],
            default_handler_class=Missing,
            default_handler_args={"server": self},
            websocket_max_message_size=MAX_MESSAGE_BYTES,
            # A refused request would be logged to the program's standard error.
            log_function=lambda _handler: None,
        )
        clients = Clients(
            application,
            max_body_size=_MAX_BODY_BYTES,
            max_buffer_size=2 * MAX_MESSAGE_BYTES,
            chunk_size=_CHUNK_BYTES,
        )
        clients.server = self
        self.keep_from_children(listening)
        clients.add_socket(listening)
        if connected is not None:
            clients.serve(connected)
        for channel, source in self._sources.items():
            source.read(asyncio.get_running_loop(), functools.partial(self._forward, channel))

    def keep_from_children(self, sock):
        """Keep a socket from the processes that the program forks."""
        self.descriptors[sock.fileno()] = sock
        # Of closed sockets, the numbers are others' by now.
        self.descriptors = {n: s for n, s in self.descriptors.items() if s.fileno() == n}

    def leave_child(self):
        """Take the sockets from a forked child, whose end must not delay theirs."""
        null = os.open(os.devnull, os.O_RDWR)
        for number, sock in self.descriptors.items():
            if sock.fileno() == number:
                os.dup2(null, number, inheritable=False)
        os.close(null)

    def release(self):
        """Read no more of the present client's messages."""
        before, self.client = self.client, None
        if before is not None:
            before.close(1001, "another client has connected")

    def find_conversation(self, session_id, received):
        """Return the conversation that a client goes on with, or begins.

        Args:
            session_id: of the client.
            received: the messages that it has received; ``None`` if it acknowledges none.

        Raises:
            ValueError: it goes on with one that there is not.
        """
        if received is not None and self.conversation.session_id == session_id:
            self.conversation.forget(received)
            return self.conversation
        if received:
            raise ValueError("another client has taken over")
        return Conversation(session_id, resumable=received is not None)

    def connect(self, client, conversation):
        """Use another client, or another connection of the same, from now on."""
        self.client, self.conversation = client, conversation
        for pieces in conversation.kept():
            client.send(pieces)
        self.go_on()

    def disconnect(self, client):
        """Wait for another client, unless there is one."""
        if self.client is client:
            self.client = None

    def go_on(self, *_done):
        """Send the messages that have waited for the client."""
        for source in self._sources.values():
            source.go_on()

    def _forward(self, channel, source):
        """Send a message to the client; without a free one it waits, and then the program."""
        if self.client is None or self.client.is_full or self.conversation.is_full:
            return False
        parts = [frame.buffer for frame in source.recv_multipart(copy=False)]
        start = next((n for n, part in enumerate(parts) if part == DELIMITER), len(parts))
        # Without identities and signature.
        pieces = frame_of(channel, parts[start + 2 :])
        self.conversation.keep(pieces)
        self.client.send(pieces)
        self.free_memory.note(sum(map(len, pieces)))
        return True

    def receive(self, payload):
        """Pass a message of the client on to the kernel.

        Raises:
            ValueError, TypeError, KeyError, struct.error: it violates the layout.
        """
        channel, parts = parts_of(payload)
        self.free_memory.note(len(payload))
        copy = len(payload) <= zmq.COPY_THRESHOLD
        self._sources[channel].send([DELIMITER, b"", *parts], copy)

    def model(self):
        """Return the description of the kernel, as a gateway gives it.

        ``serves_itself`` is this server's own: while C code keeps the GIL, it is silent.
        """
        return {
            "id": self.kernel_id,
            "name": "python3",
            "execution_state": "idle",
            "connections": int(self.client is not None),
            "serves_itself": True,
        }


class Clients(httpserver.HTTPServer):
    """The connections, none of which a forked child keeps."""

    def serve(self, sock):
        """Serve a socket that is connected already."""
        sock.setblocking(False)
        stream = iostream.IOStream(
            sock, max_buffer_size=2 * MAX_MESSAGE_BYTES, read_chunk_size=_CHUNK_BYTES
        )
        self.handle_stream(stream, ("client", 0))

    def handle_stream(self, stream, address):
        """Serve a connection."""
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self.server.keep_from_children(stream.socket)
        super().handle_stream(stream, address)


class Handler(web.RequestHandler):
    """A request that needs the token."""

    def initialize(self, server):
        """Take what all requests share."""
        self.server = server

    def prepare(self):
        """Refuse a request without the token."""
        kind, _, given = self.request.headers.get("Authorization", "").partition(" ")
        if kind.lower() not in ("token", "bearer"):
            given = self.get_query_argument("token", "")
        if not hmac.compare_digest(given.strip().encode(), self.server.token.encode()):
            raise web.HTTPError(401, reason="the token is missing or wrong")


class Missing(Handler):
    """An address that there is not, which only a client with the token learns."""

    def prepare(self):
        """Refuse the request."""
        super().prepare()
        raise web.HTTPError(404)


class Api(Handler):
    """The version, with which a client finds out whether the server answers."""

    def get(self):
        """Answer."""
        self.finish({"version": "2.0.0", "gateway_version": "3"})


class KernelList(Handler):
    """The kernels, of which there is one; a request for a new one gets it."""

    def get(self):
        """List it."""
        self.set_header("Content-Type", "application/json")
        self.finish(b"[" + web.escape.json_encode(self.server.model()).encode() + b"]")

    def post(self):
        """Return it."""
        self.set_status(201)
        self.finish(self.server.model())


class KernelModel(Handler):
    """The kernel."""

    def get(self):
        """Describe it."""
        self.finish(self.server.model())


class Channels(Handler, websocket.WebSocketHandler):
    """The client's WebSocket."""

    def prepare(self):
        """Refuse a request without the token, or to go on with what there is not."""
        super().prepare()
        self.find_conversation()

    def find_conversation(self):
        """Return the conversation that the client goes on with, or begins."""
        count = self.request.headers.get(_RECEIVED_HEADER)
        try:
            return self.server.find_conversation(
                self.get_query_argument("session_id", ""), None if count is None else int(count)
            )
        except ValueError as error:
            raise web.HTTPError(410, reason=str(error)) from None

    def select_subprotocol(self, subprotocols):
        """Choose the layout, the only one there is, and take over from the client before."""
        if V1 not in subprotocols:
            return None
        # First: a message that is read after the count was told would come twice.
        self.server.release()
        self.conversation = self.find_conversation()
        if self.conversation.resumable:
            self.set_header(_RECEIVED_HEADER, str(self.conversation.received))
        return V1

    def open(self, *_args):
        """Serve the client."""
        if self.selected_subprotocol != V1:
            self.close(1002, f"the subprotocol {V1} is needed")
            return
        self.set_nodelay(True)
        #: Whether it has to read before it gets more messages.
        self.is_full = False
        self.server.connect(self, self.conversation)

    def send(self, pieces):
        """Send a frame. Not by tornado's method, which would copy a long one twice."""
        stream = self.ws_connection.stream
        try:
            for piece in pieces:
                sent = stream.write(piece)
        except iostream.StreamClosedError:
            return
        if not sent.done():
            self.is_full = True
            sent.add_done_callback(self._is_free)

    def _is_free(self, sent):
        sent.exception()  # a client that has gone away
        self.is_full = False
        self.server.go_on()

    def on_message(self, message):
        """Pass a message on; one that violates the layout ends the connection."""
        if self.server.client is not self:
            return  # it will be sent again, over the connection that took the place of this one
        try:
            self.server.receive(message)
        except (ValueError, TypeError, KeyError, struct.error) as error:
            self.close(1002, f"{type(error).__name__}: {error}"[:100])
            return
        if self.conversation.receive(len(message)):
            self.send([self.conversation.acknowledge()])

    def on_pong(self, data):
        """Forget the messages that the client acknowledges."""
        if self.server.client is not self or len(data) != _COUNT.size:
            return
        was_full = self.conversation.is_full
        try:
            self.conversation.forget(*_COUNT.unpack(data))
        except ValueError as error:
            self.close(1002, str(error))
            return
        if was_full:
            self.server.go_on()

    def on_close(self):
        """Wait for the next client."""
        self.server.disconnect(self)


def frame_of(channel, parts):
    """Return the pieces of a message's frame (RFC 6455, section 5.2), in the layout v1."""
    name = channel.encode()
    position = 8 * (len(parts) + 3)
    offsets = [position, position := position + len(name)]
    for part in parts:
        offsets.append(position := position + len(part))
    table = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
    # One binary frame, with the longest form of its length.
    pieces = [struct.pack("!BBQ", 0x82, 127, position), table, name, *parts]
    return [b"".join(pieces)] if position <= _JOINED_BYTES else pieces


def parts_of(payload):
    """Return channel and parts of a client's message in the layout v1.

    Raises:
        ValueError, TypeError, KeyError, struct.error: it violates the layout.
    """
    (count,) = struct.unpack_from("<Q", payload)
    if not 6 <= count <= _MAX_PARTS:
        raise ValueError(f"a message with a table of {count} offsets")
    offsets = struct.unpack_from(f"<{count}Q", payload, 8)
    edges = [8 * (count + 1), *offsets, len(payload)]
    if edges != sorted(edges):
        raise ValueError("the offsets of a message do not increase, or point outside of it")
    view = memoryview(payload)
    name, *parts = (view[a:b] for a, b in itertools.pairwise(offsets))
    channel = bytes(name).decode()
    if CHANNELS[channel] != zmq.DEALER:
        raise ValueError(f"a message to the channel {channel}")
    return channel, parts


def listening_socket():
    """Return the socket that clients connect to."""
    host, port = os.environ.get("KG_IP") or "127.0.0.1", int(os.environ.get("KG_PORT") or 8888)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family)
    listening.setblocking(False)
    return listening


async def serve_until_the_end(server, listening, connected):
    """Serve; without a server the process would be of no use."""
    try:
        await server.serve(listening, connected)
    except Exception:
        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)


def main():
    """Be the kernel, and its server, until it ends."""
    with contextlib.suppress(AttributeError):  # other C libraries do so without being asked
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    token = os.environ.pop("KG_AUTH_TOKEN", "")
    number = os.environ.pop("KG_CLIENT_FD", "")
    connected = socket.socket(fileno=int(number)) if number else None
    if connected is not None:
        connected.set_inheritable(False)
    listening = listening_socket()
    sys.argv[:] = ["ipykernel"]
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    config = Config()
    config.HistoryManager.enabled = False
    app = Application.instance(config=config, log_level=logging.ERROR)
    # The level belongs to the handler alone, and four records would be made for each call.
    app.log.setLevel(logging.ERROR)
    app.prepare(token)
    os.register_at_fork(after_in_child=app.server.leave_child)
    loop = app.control_thread.io_loop
    loop.add_callback(serve_until_the_end, app.server, listening, connected)
    app.start()


if __name__ == "__main__":
    main()

"""Kernels of the gateway: their processes, and ZeroMQ's protocol on their sockets.

The protocol is ZMTP 3.0 (RFC 23) with the NULL mechanism, for a DEALER or SUB socket that connects
to one ROUTER or XPUB. A kernel runs programs of anyone, so its sockets can send anything: whatever
violates the protocol or a limit closes the connection, and nothing else.
"""

import os
import signal
import socket
import struct
import sys

from gateway_streams import FREE_BYTES, Passage, Stream, StreamError

CHANNELS = ("shell", "iopub", "stdin", "control")
#: Limit of one message, in bytes, in both directions.
MAX_MESSAGE_BYTES = 1 << 30
MAX_PARTS = 1024
#: Length in bytes from which a part of a message is passed on while it arrives.
PASSED_BYTES = 1 << 18
DELIMITER = b"<IDS|MSG>"

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_MORE, _LONG, _COMMAND = 1, 2, 4
_SUBSCRIBE_ALL = b"\x00\x01\x01"
# Time in which a kernel greets a subscriber.
_GREETING_SECONDS = 1.0
# Time between the end of a kernel's sockets and of its process.
_DEATH_SECONDS = 10.0
# Time in which a kernel has to start, however busy the machine is.
_START_SECONDS = 60.0
# After more starts in a row that did not lead to an answer, the gateway gives the kernel up.
_MOST_FAILURES = 5
_RESTART_SECONDS = 0.2


def note(text):
    """Write one line to the container's log, which the executor quotes after a failure."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        pass


def oom_kills():
    """Return the number of out-of-memory kills in this container, or None if unknown."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as lines:
                for line in lines:
                    name, _, count = line.partition(" ")
                    if name == "oom_kill":
                        return int(count)
        except (OSError, ValueError):
            continue
    return None


def _frame(flags, size):
    if size < 256:
        return struct.pack("!BB", flags, size)
    return struct.pack("!BQ", flags | _LONG, size)


def _ready(socket_type, identity):
    properties = [(b"Socket-Type", socket_type), (b"Identity", identity)]
    body = b"\x05READY" + b"".join(
        bytes([len(name)]) + name + struct.pack("!I", len(value)) + value
        for name, value in properties
    )
    return _frame(_COMMAND, len(body)) + body


class Connection:
    """One connection to a socket of a kernel.

    Args:
        loop: the event loop.
        path: of the kernel's socket.
        channel: name of the channel.
        identity: of this client, the same on all channels.
        link: takes messages, and learns that the connection is open, full or has ended.

    Raises:
        OSError: nothing listens at ``path``, or too many connections wait there.
    """

    def __init__(self, loop, path, channel, identity, link):
        self._channel, self._link = channel, link
        self._type = b"SUB" if channel == "iopub" else b"DEALER"
        self._identity = identity
        # Bytes that are missing of the part that is being passed on to the kernel.
        self._missing = 0
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A program can listen there and accept nothing: never wait for it.
            sock.setblocking(False)
            sock.connect(path)
        except OSError:
            sock.close()
            raise
        self.stream = Stream(
            loop, sock, self._parse(), link.lost, lambda full: link.kernel_is_full(channel, full)
        )
        self.stream.write(_GREETING)

    def send(self, parts, *, more=False):
        """Send the parts of a message; all of them, or with ``more`` the first ones."""
        last = -1 if more else len(parts) - 1
        buffers = []
        for number, part in enumerate(parts):
            buffers += (_frame(0 if number == last else _MORE, len(part)), part)
        self.stream.write(*buffers)

    def begin_part(self, size, *, more):
        """Send the head of one part, whose bytes are given to :meth:`pass_on`."""
        self._missing = size
        self.stream.write(_frame(_MORE if more else 0, size))

    def pass_on(self, data):
        """Send bytes of the part that was begun, at once."""
        self._missing -= len(data)
        self.stream.pass_on(data, more=self._missing > 0)

    def _parse(self):
        greeting = yield 64
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3:
            raise StreamError("the kernel's socket does not speak ZMTP 3")
        self.stream.write(_ready(self._type, self._identity))
        while True:
            flags, body = yield from self._next_frame()
            if flags & _COMMAND and bytes(body[:6]) == b"\x05READY":
                break
            raise StreamError("the kernel's socket refused the connection")
        if self._channel == "iopub":
            self.stream.write(_SUBSCRIBE_ALL)
        self._link.opened(self._channel)
        while True:
            parts = yield from self._next_message()
            if parts is not None:
                self._link.received(self._channel, parts)

    def _next_message(self):
        """Return the parts of a message; ``None`` if it has been passed on."""
        parts, size = [], 0
        while True:
            flags, length = yield from self._next_head(MAX_MESSAGE_BYTES - size)
            if length >= PASSED_BYTES and not flags & (_MORE | _COMMAND):
                passing = self._link.begin_message(self._channel, parts, length)
                if passing is not None:
                    yield Passage(length, passing)
                    self._link.passed()
                    return None
            body = (yield length) if length else b""
            if flags & _COMMAND:
                continue
            parts.append(body)
            size += len(body)
            if not flags & _MORE:
                return parts
            if len(parts) > MAX_PARTS:
                raise StreamError(f"a message of more than {MAX_PARTS} parts")

    def _next_frame(self):
        flags, size = yield from self._next_head()
        return flags, (yield size) if size else b""

    def _next_head(self, limit=MAX_MESSAGE_BYTES):
        flags, size = yield 2
        if flags & ~(_MORE | _LONG | _COMMAND):
            raise StreamError(f"a frame with the flags {flags:#x}")
        if flags & _LONG:
            rest = yield 7
            size = int.from_bytes(bytes([size]) + rest, "big")
        if size > limit:
            raise StreamError(f"a frame of {size} bytes")
        return flags, size


class Link:
    """The connections of one client to the present process of a kernel.

    Args:
        kernel: that the client asked for.
        client: takes ``received(channel, parts)``, ``begin_message(channel, parts, size)``,
            ``kernel_is_full(full)``, ``lost(reason)``.
        identity: of the client.
    """

    def __init__(self, kernel, client, identity):
        self._kernel, self._client, self._identity = kernel, client, identity
        self._connections = {}
        self._opening = set(CHANNELS)
        self._waiting = []
        self._waiting_bytes = 0
        self._full = set()
        self._number = 0
        self._paused = False
        # Channel of the message that is being passed on to the client.
        self._passing = None

    def connect(self):
        """Connect to the kernel's process, which answers."""
        self.close()
        self._number += 1
        for channel in CHANNELS:
            try:
                self._connections[channel] = Connection(
                    self._kernel.loop,
                    self._kernel.socket_path(channel),
                    channel,
                    self._identity,
                    _Guarded(self, self._number),
                )
            except OSError as error:
                self.lost(f"connecting to the {channel} channel failed: {error.strerror}")
                return
        if self._paused:
            self.pause()

    def send(self, channel, parts):
        """Send a message to the kernel, now or when it answers."""
        if self._opening:
            self._waiting.append((channel, parts))
            self._waiting_bytes += sum(map(len, parts))
            if self._waiting_bytes > FREE_BYTES:
                self.kernel_is_full("opening", True)
        else:
            self._connections[channel].send(parts)

    def open_connection(self, channel):
        """Return the channel's connection; ``None`` while messages have to wait."""
        return None if self._opening else self._connections[channel]

    def opened(self, channel):
        """Note that a connection is open; that of iopub counts from its first message on."""
        if channel != "iopub":
            self._opened(channel)
            return
        number = self._number

        def go_on():
            if self._number == number:
                self._opened(channel)

        # The kernel's thread may wait for another client that does not read.
        self._kernel.loop.call_later(_GREETING_SECONDS, go_on)

    def _opened(self, channel):
        if channel not in self._opening:
            return
        self._opening.discard(channel)
        if not self._opening:
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            for message in waiting:
                self.send(*message)
            self.kernel_is_full("opening", False)

    def received(self, channel, parts):
        """Pass a message on to the client, without identities and signature."""
        if self._opening and channel == "iopub":
            # The kernel greets a subscriber; from then on no message is missed.
            self._opened(channel)
        message = _without_identities(parts)
        if len(message) >= 4:
            self._client.received(channel, message)

    def begin_message(self, channel, parts, size):
        """Begin to pass a message on whose last part has not arrived; the other channels wait.

        Args:
            channel: of the message.
            parts: those before the last one.
            size: of the last one, in bytes.

        Returns:
            a function that takes the bytes of the last part; ``None`` if the client can take
            whole messages only.
        """
        message = _without_identities(parts)
        if self._opening or self._passing or len(message) < 3:
            return None
        take = self._client.begin_message(channel, message, size)
        if take is not None:
            self._passing = channel
            for name, connection in self._connections.items():
                if name != channel:
                    connection.stream.pause("passing")
        return take

    def passed(self):
        """Let the other channels go on: the message has been passed on, or is given up."""
        self._passing = None
        for connection in self._connections.values():
            connection.stream.resume("passing")

    def kernel_is_full(self, channel, full):
        """Pass on whether messages wait that the kernel does not read."""
        (self._full.add if full else self._full.discard)(channel)
        self._client.kernel_is_full(bool(self._full))

    def lost(self, reason):
        """React to the end of a connection: its kernel has ended, or violated the protocol."""
        self._opening = set(CHANNELS)
        self._give_up_passing()
        self._kernel.check_death(lambda: self._client.lost(reason))

    def pause(self):
        """Read nothing from the kernel until :meth:`resume`."""
        self._paused = True
        for connection in self._connections.values():
            connection.stream.pause("client")

    def resume(self):
        """Read from the kernel again."""
        self._paused = False
        for connection in self._connections.values():
            connection.stream.resume("client")

    def read_now(self):
        """Pass on what an ended kernel has sent."""
        # First the rest of the message that the others wait for.
        for channel in sorted(self._connections, key=lambda name: name != self._passing):
            self._connections[channel].stream.read_now()
            self._give_up_passing()

    def _give_up_passing(self):
        if self._passing is not None:
            self._client.give_up()
            self.passed()

    def close(self):
        """Close the connections without notice to the client."""
        self._give_up_passing()
        self._number += 1
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.stream.end("closed")
        self._opening = set(CHANNELS)
        self._full.clear()


def _without_identities(parts):
    """Return the parts after identities and signature; none if it is not a message of Jupyter."""
    return parts[parts.index(DELIMITER) + 2 :] if DELIMITER in parts else []


class _Guarded:
    """Link as its connections see it: ignores calls of connections that it has closed."""

    def __init__(self, link, number):
        self._link, self._number = link, number

    def _if_present(self, method, *arguments):
        if self._link._number == self._number:
            method(*arguments)

    def opened(self, channel):
        self._if_present(self._link.opened, channel)

    def received(self, channel, parts):
        self._if_present(self._link.received, channel, parts)

    def begin_message(self, channel, parts, size):
        if self._link._number == self._number:
            return self._link.begin_message(channel, parts, size)
        return None

    def passed(self):
        self._if_present(self._link.passed)

    def kernel_is_full(self, channel, full):
        self._if_present(self._link.kernel_is_full, channel, full)

    def lost(self, reason):
        self._if_present(self._link.lost, reason)


class Forked(BaseException):
    """Raised in the process of a new kernel: unwinds the gateway, of which nothing is kept."""

    def __init__(self, path, ready):
        super().__init__(path)
        self.path = path
        self.ready = ready


class Kernel:
    """One kernel: a process that is replaced when it ends.

    Args:
        loop: the event loop.
        identity: of the kernel, in the gateway's addresses.
        folder: for its sockets.
        counter: yields numbers of ended kernels, for the log.
        on_end: called with this kernel when it is dead and its last process has ended.
    """

    def __init__(self, loop, identity, folder, counter, on_end):
        self.loop = loop
        self.id = identity
        self.state = "starting"
        self._folder = folder
        self._counter = counter
        self._forget = on_end
        self._clients = {}
        self._pid = None
        self._ready = None
        self._answered = False
        self._starts = 0
        self._failures = 0
        self._asked_to_end = False
        self._oom_kills = oom_kills() or 0

    @property
    def connections(self):
        """Number of clients."""
        return len(self._clients)

    def socket_path(self, channel):
        """Return the path of a channel's socket of the present process."""
        return f"{self._path()}-{CHANNELS.index(channel) + 1}"

    def _path(self):
        return os.path.join(self._folder, f"{self.id[:8]}-{self._starts}")

    # -- process --

    def start(self):
        """Fork the kernel.

        Raises:
            Forked: this is the new process.
        """
        self._starts += 1
        self._answered = self._asked_to_end = False
        self.state = "starting"
        try:
            pid, ready = self._fork()
        except OSError as error:  # too many processes or descriptors, or a full disk
            self._failed(f"the kernel could not be started: {error.strerror}")
            return
        self._pid, self._ready = pid, ready
        self.loop.watch(ready, 1, self._answers)
        self.loop.call_later(_START_SECONDS, lambda: self._check_started(pid))

    def _fork(self):
        """Return the new process and the descriptor from which its answer is read."""
        # The program of an earlier kernel may have emptied /tmp.
        os.makedirs(self._folder, 0o700, exist_ok=True)
        ready, answers = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(ready)
            os.close(answers)
            raise
        if not pid:
            raise Forked(self._path(), answers)
        os.close(answers)
        os.set_blocking(ready, False)
        return pid, ready

    def _check_started(self, pid):
        if self._pid == pid and not self._answered:
            note(f"the kernel did not start in {_START_SECONDS:.0f} s")
            _signal_group(pid, signal.SIGKILL)

    def _answers(self, _events):
        self._read_answer()
        if self._answered:
            self.state = "idle"
            for link in list(self._clients.values()):
                link.connect()
        elif self._ready is None:
            # Without the descriptor it never answers; mostly it has ended already.
            _signal_group(self._pid, signal.SIGKILL)

    def _read_answer(self):
        if self._ready is None:
            return
        try:
            self._answered = bool(os.read(self._ready, 1))
        except BlockingIOError:
            return
        self._close_ready()

    def _close_ready(self):
        if self._ready is not None:
            self.loop.watch(self._ready, 0, None)
            os.close(self._ready)
            self._ready = None

    def reap(self):
        """Notice the end of the process; start another."""
        if self._pid is None:
            return
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self._pid, 0
        if not pid:
            return
        self._pid = None
        self._read_answer()
        self._close_ready()
        for link in list(self._clients.values()):
            link.read_now()
            link.close()
        if self.state == "dead":
            self._forget(self)
            return
        if not self._asked_to_end:
            self._log_end(os.waitstatus_to_exitcode(status))
        if not self._answered and not self._asked_to_end:
            self._failed("the kernel ended again and again while it started")
        else:
            self._failures = 0
            self._tell("restarting")
            self.start()

    def _log_end(self, code):
        kills = oom_kills() or 0
        oom, self._oom_kills = kills > self._oom_kills, kills
        # The executor reads this line; the number distinguishes it from earlier kernels.
        note(f"kernel {next(self._counter)} ended: exit code {code}" + ", out of memory" * oom)

    def _failed(self, reason):
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            note(reason)
            self.end()
            return
        self._tell("restarting")
        self.loop.call_later(_RESTART_SECONDS * self._failures, self._start_again)

    def _start_again(self):
        if self._pid is None and self.state != "dead":
            self.start()

    def interrupt(self):
        """Interrupt the program and the processes of its group, as Ctrl-C does."""
        if self._pid is not None and self._answered:
            _signal_group(self._pid, signal.SIGINT)

    def restart(self):
        """Replace the process."""
        self._failures = 0
        if self._pid is None:
            self._start_again()
            return
        self._asked_to_end = True
        _signal_group(self._pid, signal.SIGKILL)

    def end(self):
        """End the process for good, and say so to the clients."""
        for link in list(self._clients.values()):
            link.close()
        self._tell("dead")
        self.state = "dead"
        # An answer that has not been read yet must not change that.
        self._close_ready()
        for client in list(self._clients):
            client.lost("the kernel is dead")
        if self._pid is None:
            self._forget(self)
        else:
            _signal_group(self._pid, signal.SIGKILL)

    # -- clients --

    def attach(self, client, identity):
        """Return a link of a new client, connected as soon as the kernel answers."""
        link = self._clients[client] = Link(self, client, identity)
        if self.state == "idle":
            link.connect()
        return link

    def detach(self, client):
        """Forget a client."""
        link = self._clients.pop(client, None)
        if link is not None:
            link.close()

    def check_death(self, otherwise):
        """Call ``otherwise`` if the process does not end soon: its sockets have."""
        starts = self._starts
        self.reap()

        def check():
            if self._starts == starts and self._pid is not None:
                otherwise()

        self.loop.call_later(_DEATH_SECONDS, check)

    def _tell(self, state):
        for client in list(self._clients):
            client.status(state)


def _signal_group(pid, number):
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
            return
        except ProcessLookupError:  # not yet the leader of its group
            continue
        except PermissionError:
            return

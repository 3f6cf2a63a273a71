"""Calls of the bridge as messages of the stdin channel: input requests and their replies.

jupyter_client makes a message from four dictionaries, takes it apart into them, and parses the
dates in it: a third of a short call's time. Here the parts that are the same in all requests of a
run are made once, and of a reply only the content is read.

Source: "Messaging in Jupyter", the wire protocol and the stdin channel. Like ``agent``, this file
is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import hmac
import json
import os
import time

import zmq

DELIMITER = b"<IDS|MSG>"

# Ten seconds in all.
_CONNECT_ATTEMPTS = 1000
_CONNECT_SECONDS = 0.01


class StdinChannel:
    """The bridge's side of the kernel's stdin socket; one thread uses it at a time.

    Args:
        kernel: ipykernel's.
        comm_id: begins the prompts that the host takes for calls.
        unbroken: calls a function and defers an interrupt until it returns.
    """

    def __init__(self, kernel, comm_id, unbroken):
        self.socket, self.session = kernel.stdin_socket, kernel.session
        self.comm_id, self.unbroken = comm_id, unbroken
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.sent = 0
        self.parts = None
        self.begin({}, ())

    def begin(self, parent, idents):
        """Take the request of a new run, and the identities of its sender."""
        idents = [idents] if isinstance(idents, bytes) else list(idents)
        self.parent, self.idents, self.parts = parent, idents, None

    def send(self, *request):
        """Send the pieces of a request as buffers; return the number in its reply's value.

        The pieces must stay as they are until the reply. The last one is the longest.

        Raises:
            ConnectionError: the gateway has not connected to the channel.
            RuntimeError: this is a process that the program has forked.
        """
        if os.getpid() != self.session.pid:
            raise RuntimeError("tools can be called in the kernel's own process only")
        self.sent += 1
        parts = [*self._head(str(self.sent)), *request]
        for _ in range(_CONNECT_ATTEMPTS):
            try:
                self.unbroken(self._send_now, parts)
            except zmq.ZMQError as error:
                # The gateway connects its sockets one by one, this one possibly after the shell's.
                if error.errno != zmq.EHOSTUNREACH:
                    raise
                time.sleep(_CONNECT_SECONDS)
            else:
                return str(self.sent)
        raise ConnectionError("the gateway has not connected to the kernel's stdin channel")

    def _send_now(self, parts):
        while self.poller.poll(0):  # replies to abandoned requests
            self.socket.recv_multipart(zmq.NOBLOCK)
        self.socket.send_multipart(parts, copy=len(parts[-1]) < zmq.COPY_THRESHOLD)

    def wait(self, milliseconds):
        """Wait for a reply; return whether there is one."""
        return bool(self.poller.poll(milliseconds))

    def receive(self, number):
        """Read a reply that has arrived; return its buffer, or ``None`` if it is another's."""
        parts = self.unbroken(self.socket.recv_multipart)
        try:
            signature, *message = parts[parts.index(DELIMITER) + 1 :]
            content, buffer = message[3:5]
            signed = self.session.sign(message[:4])
            value = json.loads(content)["value"]
        except (ValueError, KeyError, TypeError):
            return None
        return buffer if value == number and hmac.compare_digest(signature, signed) else None

    def _head(self, number):
        """Return all parts before the request."""
        if self.parts is None:
            header = self.session.msg_header("input_request")
            pieces = self.session.pack(header).split(header["msg_id"].encode(), 1)
            parent = self.session.pack(self.parent.get("header", {}))
            self.parts = header["msg_id"], pieces, parent
        identity, pieces, parent = self.parts
        header = f"{identity}_{number}".encode().join(pieces)
        content = b'{"prompt":"%s %s","password":false}' % (self.comm_id.encode(), number.encode())
        message = [header, parent, b"{}", content]
        return [*self.idents, DELIMITER, self.session.sign(message), *message]

"""Calls of the bridge as messages of the stdin channel: input requests and their replies.

Source: "Messaging in Jupyter", the stdin channel. Like ``agent``, this file is sent as text and
does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import os
import time

import zmq

# Ten seconds in all.
_CONNECT_ATTEMPTS = 1000
_CONNECT_SECONDS = 0.01


class StdinChannel:
    """The bridge's side of the kernel's stdin socket; one thread uses it at a time.

    Args:
        comm_id: begins the prompts that the host takes for calls.
        unbroken: calls a function and defers an interrupt until it returns.
    """

    def __init__(self, kernel, comm_id, unbroken):
        self.socket, self.session = kernel.stdin_socket, kernel.session
        self.comm_id, self.unbroken = comm_id, unbroken
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.sent = 0
        self.begin({}, ())

    def begin(self, parent, idents):
        """Take the request of a new run, and the identities of its sender."""
        self.parent, self.idents = parent, idents

    def send(self, *request):
        """Send the pieces of a request as buffers; return the number in its reply's value.

        The pieces must stay as they are until the reply.

        Raises:
            ConnectionError: the gateway has not connected to the channel.
            RuntimeError: this is a process that the program has forked.
        """
        if os.getpid() != self.session.pid:
            raise RuntimeError("tools can be called in the kernel's own process only")
        self.sent += 1
        for _ in range(_CONNECT_ATTEMPTS):
            try:
                self.unbroken(self._send_now, request)
            except zmq.ZMQError as error:
                # The gateway connects its sockets one by one, this one possibly after the shell's.
                if error.errno != zmq.EHOSTUNREACH:
                    raise
                time.sleep(_CONNECT_SECONDS)
            else:
                return str(self.sent)
        raise ConnectionError("the gateway has not connected to the kernel's stdin channel")

    def _send_now(self, request):
        while self.poller.poll(0):  # replies to abandoned requests
            self.socket.recv_multipart(zmq.NOBLOCK)
        content = {"prompt": f"{self.comm_id} {self.sent}", "password": False}
        self.session.send(
            self.socket, "input_request", content, self.parent, self.idents, list(request)
        )

    def wait(self, milliseconds):
        """Wait for a reply; return whether there is one."""
        return bool(self.poller.poll(milliseconds))

    def receive(self, number):
        """Read a reply that has arrived; return its buffer, or ``None`` if it is another's."""
        try:
            _, reply = self.unbroken(self.session.recv, self.socket)
            (buffer,) = reply["buffers"]
            return buffer if reply["content"]["value"] == number else None
        except (ValueError, LookupError, TypeError):  # not a message, or not signed by the gateway
            return None

"""The floor of a call: a kernel driven over its own sockets, in the container, without a gateway.

Runs in a container as ``python kernel_driver.py CONNECTION_FILE``. Prints ``ready`` once the kernel
has run ``1+1``, and answers lines: ``call`` with the seconds of another ``1+1``, and ``input N``
with the seconds of one of N input requests of a program, as the program measures them.
"""

# mypy: ignore-errors
# (It runs where the kernel's packages are, which are not installed here.)

import json
import os
import sys
import time

import zmq
from jupyter_client.session import Session

START_SECONDS = 60
INPUTS = (
    "import time\nt = time.perf_counter()\nfor _ in range({}): input()\ntime.perf_counter() - t"
)


class Kernel:
    """Client of a running kernel.

    Args:
        path: of its connection file, which may be there a little later.
    """

    def __init__(self, path):
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                with open(path) as file:
                    self.info = json.load(file)
                break
            except (OSError, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        self.session = Session(key=self.info["key"].encode())
        self.context = zmq.Context()
        self.shell = self.connected(zmq.DEALER, "shell")
        self.stdin = self.connected(zmq.DEALER, "stdin")
        self.output = self.connected(zmq.SUB, "iopub")
        self.output.setsockopt(zmq.SUBSCRIBE, b"")
        self.poller = zmq.Poller()
        for channel in (self.shell, self.stdin, self.output):
            self.poller.register(channel, zmq.POLLIN)
        # The kernel publishes before a subscription arrives: ask until one call is complete.
        while self.run("1+1", seconds=1) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"the kernel of {path} did not answer in {START_SECONDS} s")

    def connected(self, kind, name):
        channel = self.context.socket(kind)
        channel.setsockopt(zmq.LINGER, 0)
        channel.setsockopt(zmq.IDENTITY, self.session.bsession)
        separator = "-" if self.info["transport"] == "ipc" else ":"
        address = f"{self.info['ip']}{separator}{self.info[name + '_port']}"
        channel.connect(f"{self.info['transport']}://{address}")
        return channel

    def run(self, code, seconds=60):
        """Return the text of a program's value; None if it did not end in time."""
        content = {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": True, "stop_on_error": True,
        }  # fmt: skip
        request = self.session.send(self.shell, "execute_request", content)["header"]["msg_id"]
        end = time.monotonic() + seconds
        value, missing = "", {"reply", "idle"}
        while missing:
            ready = dict(self.poller.poll(max(0, end - time.monotonic()) * 1000))
            if not ready:
                return None
            for channel in ready:
                _, message = self.session.recv(channel, 0)
                if message["parent_header"].get("msg_id") != request:
                    continue
                message_type = message["msg_type"]
                if message_type == "input_request":
                    self.session.send(self.stdin, "input_reply", {"value": ""}, message)
                elif message_type == "execute_result":
                    value = message["content"]["data"]["text/plain"]
                elif message_type == "execute_reply":
                    missing.discard("reply")
                elif message_type == "status" and message["content"]["execution_state"] == "idle":
                    missing.discard("idle")
        return value


def main():
    kernel = Kernel(sys.argv[1])
    print("ready", flush=True)
    while line := sys.stdin.readline():
        what, _, count = line.strip().partition(" ")
        if what == "input":
            seconds = float(kernel.run(INPUTS.format(count), seconds=600)) / int(count)
        else:
            began = time.perf_counter()
            kernel.run("1+1")
            seconds = time.perf_counter() - began
        print(seconds, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

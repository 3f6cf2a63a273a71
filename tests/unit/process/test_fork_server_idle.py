"""A fork server without requests ends."""

from __future__ import annotations

import subprocess
import sys

from smolagents_fork.process import fork_server

PROGRAM = """
import socket, time
from smolagents_fork.process import fork_server
fork_server.IDLE_SECONDS = 0.2
host, control = socket.socketpair()
fork_server.ForkServer(control).serve()
print("ended", host.recv(10))
"""


def test_idle_fork_server_ends():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.stdout == "ended b'R'\n", run.stderr
    assert fork_server.IDLE_SECONDS == 300  # five minutes, as the page has it

"""Isolation of the host from code that is allowed to import what could reach it."""

from __future__ import annotations

import contextlib
import socket
import threading

from contract_declarations import behaviour

ATTEMPT = """
import os, pathlib, socket, subprocess

def attempt(action):
    try:
        return action()
    except Exception as error:
        return type(error).__name__
"""


def attempted(contract, action: str):
    """Return what an expression of the code gives, or the name of its exception's class."""
    executor = contract.wide
    executor(ATTEMPT)
    return executor(f"attempt(lambda: {action})").output


@behaviour("Network", "Code opens no connection to a server of the host.")
def test_connections_of_code(contract):
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                server.accept()[0].close()
                reached.set()

        thread = threading.Thread(target=accept)
        thread.start()
        address = server.getsockname()
        found = attempted(contract, f"socket.create_connection({address!r}, 5).close() is None")
        if found is True:
            reached.wait(30)
        server.shutdown(socket.SHUT_RDWR)
        thread.join(30)
    assert (found is True) == reached.is_set() == contract.differs


@behaviour("Isolation", "Code reads no file of the host.")
def test_files_that_code_reads(contract, tmp_path):
    path = tmp_path / "secret"
    path.write_text("of the host", "utf-8")
    found = attempted(contract, f"pathlib.Path({str(path)!r}).read_text()")
    assert (found == "of the host") == contract.differs


@behaviour("Isolation", "Code starts no program on the host.")
def test_programs_that_code_starts(contract, tmp_path):
    path = tmp_path / "made"
    attempted(contract, f"subprocess.run(['touch', {str(path)!r}]).returncode")
    assert path.exists() == contract.differs

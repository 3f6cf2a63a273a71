"""A socket for one gateway takes one connection, and leaves no file behind."""

from __future__ import annotations

import glob
import os
import sys
import tempfile

import pytest
from background import run_python

from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs sockets in files")


@pytest.fixture
def folder(monkeypatch, tmp_path) -> str:
    # Short: the system allows 107 bytes for the path of a socket.
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        yield short


def sockets(folder: str) -> list[str]:
    """The folders of sockets in the folder of this process."""
    return glob.glob(f"{folder}/smolagents-fork-*/process-*/*")


def test_forked_child_leaves_the_file_to_its_parent(folder):
    program = """
import os, tempfile
from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket
tempfile.tempdir = {folder!r}
gateway = GatewaySocket.open()
child = os.fork()
if child == 0:
    gateway.close()
    os._exit(0)
os.waitpid(child, 0)
print(os.path.exists(gateway.path))
gateway.close()
print(os.path.exists(os.path.dirname(gateway.path)))
"""
    assert run_python(program.format(folder=folder)) == "True\nFalse\n"


def test_nobody_else_enters_the_folder(folder):
    gateway = GatewaySocket.open()
    assert gateway is not None
    assert os.stat(os.path.dirname(gateway.path)).st_mode & 0o777 == 0o700
    assert os.stat(gateway.path).st_mode & 0o777 == 0o666
    assert gateway.accept(0.01) is None
    gateway.close()


def test_long_path_of_temporary_files_has_no_socket(folder, monkeypatch):
    long = os.path.join(folder, "x" * 100)
    os.mkdir(long)
    monkeypatch.setattr(tempfile, "tempdir", long)
    assert GatewaySocket.open() is None
    assert sockets(long) == []

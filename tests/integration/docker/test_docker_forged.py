"""Answers that code in a container gives in the place of the kernel's own functions."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ExecutorError, FileTooLargeError, ProtocolError
from smolagents_fork.executors.docker import DockerExecutor

FORGE = """
import sys
files = sys.modules['smolagents_fork_files']
def forge(*answer):
    files.answer = lambda body, root: answer[0] if len(answer) == 1 else files.join_body(*answer)
"""


@pytest.fixture(scope="module")
def forging(image):
    with DockerExecutor() as executor:
        executor(FORGE)

        def forge(*answer):
            executor(f"forge(*{answer!r})")
            return executor

        yield forge


def test_list_of_files_is_forged(forging):
    assert [one.path for one in forging([("a", 1)], b"").list_files()] == ["a"]
    for path, size in (
        ("/workspace//etc/passwd", 1),
        # More forged paths and sizes are in test_forged_lists_are_refused; here are their types.
        ("a", True),
        ("a", 1.0),
        ("a", "1"),
    ):
        with pytest.raises(ProtocolError, match="list_files: /workspace in sandbox"):
            forging([(path, size)], b"").list_files()
    for answer in (b"", b"[" * 100_000, b"\xff" * 9, b"\0\0\0\2{}"):
        with pytest.raises(ProtocolError, match="list_files: /workspace in sandbox"):
            forging(answer).list_files()


def test_content_of_a_file_is_forged(forging):
    assert forging("x", b"").get_file("none") == b""  # as if the code had written it
    executor = forging("x", bytes(2_000))
    with pytest.raises(ProtocolError, match="2000 bytes, over 1001"):
        executor.get_file("a", max_bytes=1000)
    with pytest.raises(FileTooLargeError, match="more than 1999 bytes"):
        executor.get_file("a", max_bytes=1999)


def test_file_whose_answer_never_comes_is_an_error(forging, monkeypatch):
    from smolagents_fork.executors.jupyter import connection

    executor = forging("x", b"")
    executor("import time\nfiles.answer = lambda body, root: time.sleep(3)")
    monkeypatch.setattr(connection, "_FILE_SECONDS", 1.0)
    with pytest.raises(ExecutorError, match="has not answered for 1 s"):
        executor.get_file("a")

"""Answers that code in a container gives in the place of our programs there."""

from __future__ import annotations

import json

import pytest

from smolagents_fork.errors import ExecutorError, FileTooLargeError, ProtocolError

# The code writes programs to the first folder in which the container looks for them.
OWN_PROGRAMS = {"/own": "rw,exec,size=4m,uid=1000,gid=1000"}
WRITE = """
import os
def answer(program, text):
    with open('/own/answer', 'wb') as file: file.write(text)
    with open('/own/' + program, 'w') as file:
        file.write('#!/bin/sh\\n/bin/cat /own/answer\\n')
    os.chmod('/own/' + program, 0o755)
"""


@pytest.fixture
def forging(make, engine, image):
    variables = dict(one.split("=", 1) for one in engine.images.get(image).attrs["Config"]["Env"])
    path = {"PATH": f"/own:{variables['PATH']}"}
    executor = make(container_run_kwargs={"tmpfs": OWN_PROGRAMS, "environment": path})
    executor(WRITE)

    def forge(program, text):
        executor.send_variables({"text": text})
        executor(f"answer({program!r}, text)")
        return executor

    return forge


def test_list_of_files_is_forged(forging):
    good = [["/workspace/a", 1]]
    assert [one.path for one in forging("python3", json.dumps(good).encode()).list_files()] == ["a"]
    for entry in (
        ["/etc/passwd", 1],
        ["/workspace/../../etc/cron.d/x", 1],
        ["/workspace//etc/passwd", 1],
        ["/workspace", 1],
        ["a", 1],
        ["/workspace/a", -1],
        ["/workspace/a", True],
        ["/workspace/a", 1.0],
        ["/workspace/a", float("nan")],
        ["/workspace/a", 10**400],
        ["/workspace/a\x1b[2J", 1],
        ["/workspace/\udc80", 1],
        ["/workspace/..\\x", 1],
        ["/workspace/" + "a" * 5000, 1],
        ["/workspace/a", "1"],
        {"/workspace/a": 1},
    ):
        executor = forging("python3", json.dumps([entry]).encode())
        if entry == ["a", 1]:
            assert [one.path for one in executor.list_files()] == ["a"]
            continue
        with pytest.raises(ProtocolError, match="list_files: /workspace in sandbox"):
            executor.list_files()
    for text in (b"[" * 100_000, b"\xff", b"", b"{}", b"[[]]"):
        with pytest.raises(ProtocolError, match="list_files: /workspace in sandbox"):
            forging("python3", text).list_files()
    many = json.dumps([[f"/workspace/{number}", 1] for number in range(10_001)]).encode()
    with pytest.raises(ProtocolError, match="too long"):
        forging("python3", many).list_files()


def test_content_of_a_file_is_forged(forging):
    assert forging("cat", b"").get_file("none") == b""  # as if the code had written it
    executor = forging("sh", bytes(2_000_000))
    with pytest.raises(FileTooLargeError, match="more than 1000 bytes"):
        executor.get_file("a", max_bytes=1000)
    with pytest.raises(ExecutorError, match="before the file's end"):
        executor.get_file("a")

"""Promises of the provisioner protocol, on real kernels."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from background import at_once, eventually, running

from smolagents_fork.errors import ExecutorError, FileTooLargeError, ProtocolError
from smolagents_fork.jupyter.gateway_api import create_kernel
from smolagents_fork.jupyter.websocket import TimedSocket
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import Sandbox

#: A start takes less than a second on an idle machine, and much more on a busy one.
START_SECONDS = 180


def kernel_of(sandbox: Sandbox, token: str | None = None) -> str:
    """Return the id of its kernel."""
    sock = TimedSocket(sandbox.open_stream(timeout=START_SECONDS))
    try:
        asked = sandbox.gateway_token if token is None else token
        return create_kernel(sock, token=asked, timeout=START_SECONDS).id
    finally:
        sock.close()


def path_in(sandbox: Sandbox, name: str) -> str:
    return f"{sandbox.spec.workdir}/{name}"


def write(sandbox: Sandbox, name: str, data: bytes) -> None:
    half = len(data) // 2
    sandbox.write_file(path_in(sandbox, name), [data[:half], data[half:]], len(data))


def test_each_stream_reaches_the_one_kernel(shared):
    assert kernel_of(shared) == kernel_of(shared)


def test_prepared_image_has_a_name_that_stays(place):
    lines: list[str] = []
    assert place.provisioner.prepare_image(place.image, report=lines.append) == place.spec.image
    assert lines == []


def test_image_that_does_not_exist_is_an_error(place):
    missing = replace(place.image, image="no-such-image:1", build_timeout_seconds=60.0)
    with pytest.raises(ExecutorError, match="no-such-image"):
        place.provisioner.prepare_image(missing, report=lambda _line: None)


def test_gateway_asks_for_the_token_of_its_sandbox(place, shared):
    one, other = shared, place.start()
    kernel_of(one)
    assert one.gateway_token != other.gateway_token
    with pytest.raises(ProtocolError, match="answered 40"):
        kernel_of(one, token=other.gateway_token)


def test_concurrent_starts_each_give_a_sandbox(place):
    sandboxes: list[Sandbox] = []
    at_once(*[lambda: sandboxes.append(place.start())] * 4)
    assert len({sandbox.id for sandbox in sandboxes}) == 4
    for sandbox in sandboxes:
        kernel_of(sandbox)


def test_failed_write_leaves_the_older_file_and_others(shared):
    for name in ("failed/older", "failed/older.part"):
        write(shared, name, name.encode())

    def broken():
        yield b"x" * 10
        raise ExecutorError("the source broke")

    with pytest.raises(ExecutorError):
        shared.write_file(path_in(shared, "failed/older"), broken(), 20)
    names = [one.path for one in shared.list_files(path_in(shared, "failed"))]
    assert names == [path_in(shared, "failed/older"), path_in(shared, "failed/older.part")]
    for name in ("failed/older", "failed/older.part"):
        assert shared.read_file(path_in(shared, name), 100) == name.encode()


def test_folder_is_made_once_and_not_in_place_of_a_file(shared):
    for _ in range(2):
        shared.make_folder(path_in(shared, "made/in a/-folder"))
    write(shared, "made/file", b"1")
    assert [one.size for one in shared.list_files(path_in(shared, "made"))] == [1]
    with pytest.raises(ExecutorError, match="exists"):
        shared.make_folder(path_in(shared, "made/file"))


def test_streams_are_independent(shared):
    one, other = (shared.open_stream(timeout=START_SECONDS) for _ in range(2))
    one.close()
    sock = TimedSocket(other)
    assert create_kernel(sock, token=shared.gateway_token, timeout=START_SECONDS)
    sock.close()


def test_files_are_written_and_read(shared):
    sandbox = shared
    for name, data in (
        ("top/empty", b""),
        ("top/small", b"one\ntwo"),
        ("top/a/new folder/ä", bytes(range(256))),
        ("top/large", bytes(range(256)) * 12_000),
    ):
        write(sandbox, name, data)
        assert sandbox.read_file(path_in(sandbox, name), 10_000_000) == data
        assert sandbox.read_file(path_in(sandbox, name), max(1, len(data))) == data
    write(sandbox, "top/large", b"shorter")
    assert sandbox.read_file(path_in(sandbox, "top/large"), 7) == b"shorter"
    found = [(one.path, one.size) for one in sandbox.list_files(path_in(sandbox, "top"))]
    expected = [("a/new folder/ä", 256), ("empty", 0), ("large", 7), ("small", 7)]
    assert found == [(path_in(sandbox, f"top/{name}"), size) for name, size in expected]


def test_file_errors_say_why(shared):
    sandbox = shared
    write(sandbox, "folder/file", b"0123456789")
    with pytest.raises(FileTooLargeError, match="more than 9 bytes"):
        sandbox.read_file(path_in(sandbox, "folder/file"), 9)
    with pytest.raises(ExecutorError, match="No such file"):
        sandbox.read_file(path_in(sandbox, "missing"), 9)
    with pytest.raises(ExecutorError, match="folder"):
        write(sandbox, "folder", b"")
    with pytest.raises(ExecutorError, match="No such file"):
        sandbox.list_files(path_in(sandbox, "missing"))
    assert sandbox.read_file(path_in(sandbox, "folder/file"), 10) == b"0123456789"


def test_status_of_a_running_sandbox(shared):
    kernel_of(shared)
    status = shared.status()
    assert (status.running, status.exit_code, status.out_of_memory) == (True, None, False)
    assert shared.engine_responds()


def test_stats_are_of_gateway_and_kernel(shared):
    sandbox = shared
    kernel_of(sandbox)
    # A gateway may return the kernel while it starts.
    assert eventually(lambda: (sandbox.stats().pids or 0) > 4)
    stats = sandbox.stats()
    assert stats.memory_bytes > 20 << 20
    assert stats.memory_limit_bytes == 1500 << 20
    assert stats.cpu_seconds > 0
    assert stats.pids is not None
    assert stats.pids >= 2


def test_ours_lists_existing_sandboxes(place):
    before = set(place.provisioner.ours())
    one, other = place.start(), place.start()
    assert set(place.provisioner.ours()) - before == {one.id, other.id}
    one.remove()
    assert place.provisioner.wait_until_removed(120)
    assert set(place.provisioner.ours()) - before == {other.id}


def test_removed_sandbox_is_gone_and_says_so(place):
    sandbox = place.start()
    kernel_of(sandbox)
    write(sandbox, "file", b"1")
    at_once(*[sandbox.remove] * 3)
    assert place.provisioner.wait_until_removed(120)
    sandbox.remove()
    assert not sandbox.status().running
    for use in (
        lambda: sandbox.open_stream(timeout=1),
        sandbox.stats,
        lambda: sandbox.read_file(path_in(sandbox, "file"), 9),
        lambda: write(sandbox, "file", b"2"),
    ):
        with pytest.raises((ExecutorError, OSError)):
            use()


def test_stream_ends_when_the_sandbox_is_removed(place):
    sandbox = place.start()
    sock = TimedSocket(sandbox.open_stream(timeout=START_SECONDS))
    assert create_kernel(sock, token=sandbox.gateway_token, timeout=START_SECONDS)
    ended = threading.Event()

    def read() -> None:
        sock.settimeout(120)
        try:
            while sock.recv(1000):
                pass
        except OSError:
            pass
        ended.set()

    with running(read, stop=sock.close):
        sandbox.remove()
        assert eventually(ended.is_set)
    sock.close()


def test_failed_start_is_an_error_and_leaves_nothing(place):
    before = place.provisioner.ours()
    with pytest.raises(ExecutorError, match="no-such-image"):
        place.start(image="no-such-image")
    assert place.provisioner.wait_until_removed(120)
    # Nothing new: a pod that had checked the image may have been there before.
    assert set(place.provisioner.ours()) <= set(before)


def test_closing_leaves_sandboxes_and_may_be_repeated(place):
    other: Any = place.engine.connect(ContainerOptions())
    sandbox = other.start(place.spec)
    try:
        kernel_of(sandbox)
        other.close()
        other.close()
        assert place.provisioner.ours() or sandbox.status().running
    finally:
        sandbox.remove()
        assert other.wait_until_removed(120)

"""``ps``, ``logs`` and ``kill`` with real sandboxes of this process."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from background import eventually

from smolagents_fork import DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.sandboxes.docker.lifetime.labels import labels

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def mine(command: Any, executor: str) -> list[dict[str, Any]]:
    """The sandboxes of an executor that this process owns."""
    ended = command("ps", "--json")
    assert ended.code == 0, ended.out
    listed = ended.data["sandboxes"]
    return [
        one for one in listed if one["executor"] == executor and one["owner"]["pid"] == os.getpid()
    ]


def is_gone(command: Any, executor: str, sandbox: str) -> bool:
    """Wait for the end of a killed process; return whether it came."""
    return eventually(lambda: sandbox not in {one["id"] for one in mine(command, executor)})


@LINUX
def test_confined_process_is_listed_and_killed(command):
    with ProcessExecutor() as executor:
        entry = f"process-{executor.pid}"
        (found,) = [one for one in mine(command, "process") if one["id"] == entry]
        assert found["state"] == "running"
        assert found["memory_bytes"] > 1_000_000
        assert found["owner"]["state"] == "running"
        assert "python" in found["owner"]["command"]
        ended = command("kill", found["id"])
        assert (ended.code, ended.out) == (0, f"killed {found['id']}\n")
        assert is_gone(command, "process", entry)


@LINUX
def test_process_keeps_no_log(command):
    with ProcessExecutor() as executor:
        ended = command("logs", f"process-{executor.pid}")
    assert ended.code == 1
    assert "keeps no log: what its program prints goes to the executor" in ended.err


@LINUX
def test_other_process_is_not_killed(command):
    """A process id of somebody else, in the form of an id of ours."""
    ended = command("kill", f"process-{os.getppid()}", "--json")
    assert ended.code == 1
    assert list(ended.data["failed"]) == [f"process-{os.getppid()}"]


@LINUX
@pytest.mark.wasm
def test_wasm_guest_is_listed_and_killed(command, wasm_machine):
    with WasmExecutor() as executor:
        (found,) = [one for one in mine(command, "wasm") if one["id"] == f"wasm-{executor.pid}"]
        assert found["memory_bytes"] > 1_000_000
        assert command("kill", found["id"]).code == 0
        assert is_gone(command, "wasm", found["id"])


@pytest.fixture(scope="module")
def executor(engine: Any) -> Iterator[DockerExecutor]:
    with DockerExecutor(memory="300m", startup_timeout_seconds=180) as made:
        yield made


@pytest.mark.docker
def test_container_is_listed_with_its_owner(command, executor):
    container = executor.container
    (found,) = [one for one in mine(command, "docker") if one["name"] == container.name]
    assert found["id"] == container.short_id
    assert found["state"] == "running"
    assert found["memory_limit_bytes"] == 300 << 20
    assert 1_000_000 < found["memory_bytes"] < 300 << 20
    assert found["image"].startswith("smolagents-fork-jupyter:")
    shown = command("ps").out
    assert shown.splitlines()[0].split() == [
        "ID", "EXECUTOR", "OWNER", "AGE", "MEMORY", "STATE", "IMAGE",
    ]  # fmt: skip
    (line,) = [line for line in shown.splitlines() if line.startswith(container.short_id)]
    assert f"docker    {os.getpid()} " in line
    assert " of 315 MB" in line


@pytest.fixture
def talker(engine: Any, executor: DockerExecutor) -> Iterator[Any]:
    """A container of this process that has written three lines."""
    name = f"talker-{secrets.token_hex(8)}"
    container = engine.containers.run(
        executor.container.image.id,
        ["-c", "echo one; echo two; echo three >&2; exec sleep 120"],
        entrypoint="sh",
        labels=labels(name),
        name=name,
        init=True,
        detach=True,
    )
    assert eventually(lambda: b"three" in container.logs())
    yield container
    container.remove(force=True)


@pytest.mark.docker
def test_log_of_a_container_by_name_and_by_beginning_of_its_id(command, talker):
    ended = command("logs", talker.name, "--json")
    assert ended.code == 0, ended.out
    assert sorted(ended.data["lines"]) == ["one", "three", "two"]
    assert len(command("logs", talker.id[:8], "--lines", "2").out.splitlines()) == 2


@pytest.mark.docker
def test_killed_container_is_gone(command, executor):
    name = executor.container.name
    assert command("kill", name).code == 0
    assert [one for one in mine(command, "docker") if one["name"] == name] == []
    ended = command("kill", name)
    assert ended.code == 1
    assert f"no sandbox of the fork is called '{name}': smolagents-fork ps lists them" in ended.out


def test_absent_engine_hides_nothing_else(command, tmp_path):
    where = f"unix://{tmp_path}/none.sock"
    ended = command("ps", environment={"DOCKER_HOST": where})
    assert ended.code == 0
    assert f"not listed: docker: no container engine answers at {where}" in ended.out


@pytest.mark.parametrize("arguments", [["logs", "x", "--lines", "0"], ["kill"], ["pss"], []])
def test_wrong_use_ends_with_two(command, arguments):
    ended = command(*arguments)
    assert ended.code == 2
    assert ended.err.startswith("usage: smolagents-fork")

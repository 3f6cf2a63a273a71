"""An engine that is there and does not answer: noticed in seconds, at the start and in mid-call."""

from __future__ import annotations

import socket
import time

import pytest
from background import acting
from docker_waiting import first_print, set_options

from smolagents_fork.errors import (
    EngineUnavailableError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker import docker_provisioner


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_engine_that_accepts_and_never_answers(monkeypatch, tmp_path, kind):
    if kind == "unix":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "s"))
        listener.listen(8)
        where = f"unix://{tmp_path}/s"
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        where = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setenv("DOCKER_HOST", where)
    with listener:
        with pytest.raises(EngineUnavailableError) as caught:
            DockerExecutor()
        assert where in str(caught.value)
        assert "accepts connections there and does not answer" in str(caught.value)
        assert "docker info" in str(caught.value)


def test_engine_that_freezes_in_mid_call(make, proxy):
    executor = make(timeout_seconds=1200)
    # Longer than a test may run, unless it is noticed.
    code = "print('begun', flush=True)\nimport time; time.sleep(600)"
    with (
        acting(first_print(executor).is_set, proxy.freeze),
        pytest.raises(SandboxDiedError, match="does not answer") as caught,
    ):
        executor(code)
    assert "its state is lost" in str(caught.value)
    # The next call says so too.
    with pytest.raises(EngineUnavailableError):
        executor("1")
    executor.cleanup()
    proxy.heal()


def test_engine_that_freezes_where_a_container_is_attached(image, proxy, monkeypatch):
    monkeypatch.setattr(docker_provisioner, "API_TIMEOUT_SECONDS", 1)
    proxy.freezing_at = b"/attach?"

    def thaw():  # the container is removed then; the question is never answered
        time.sleep(2)
        proxy.heal()

    with (
        acting(lambda: proxy.is_frozen, thaw),
        pytest.raises(EngineUnavailableError, match=r"starting the container.* not answer"),
    ):
        DockerExecutor()


def test_engine_that_freezes_for_a_moment_is_no_loss(make, proxy):
    executor = make(timeout_seconds=60)
    executor("kept = 1")

    def freeze_for_a_moment():
        proxy.freeze()
        time.sleep(1)
        proxy.heal()

    with acting(first_print(executor).is_set, freeze_for_a_moment):
        code = "print('begun', flush=True)\nimport time; time.sleep(4); kept"
        assert executor(code).output == 1


def test_long_quiet_code_is_not_taken_for_a_frozen_engine(shared):
    assert shared("import time; time.sleep(6); 'done'").output == "done"


def test_busy_code_is_not_taken_for_a_frozen_engine(make):
    # A tenth of a core for gateway and kernel together: pongs come late, the engine answers.
    executor = make(
        cpus=0.1, timeout_seconds=7, startup_timeout_seconds=120, interrupt_grace_seconds=60
    )
    with pytest.raises(SandboxTimeoutError, match="state kept"):
        executor("while True: pass")
    set_options(executor, timeout_seconds=60)
    assert executor("'alive'").output == "alive"

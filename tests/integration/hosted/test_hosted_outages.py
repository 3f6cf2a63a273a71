"""Hosted services that are down, refuse, or say nothing."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hosted_services import Hosted

from smolagents_fork.errors import ExecutorError, ExecutorStartError, SandboxTimeoutError
from tests.ports import free_port


def test_no_service_is_an_error(hosted: Hosted, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    hosted.lead(f"127.0.0.1:{port}", monkeypatch)
    with pytest.raises(Exception, match=r"(?i)connect|timed out"):
        hosted.make(**hosted.impatient)
    # An SDK that goes on trying for a minute, in a thread, stops when it reaches somebody.
    with socket.create_server(("127.0.0.1", port)):
        hosted.lead(hosted.address, monkeypatch)


@pytest.mark.parametrize("status", [401, 429, 500])
def test_refused_creation_is_the_sdks_error(hosted: Hosted, status: int):
    hosted.service.faults.status[hosted.create] = status
    with pytest.raises(Exception, match=str(status)) as caught:
        hosted.make()
    assert type(caught.value).__name__ == hosted.refusals[status]


@pytest.mark.parametrize("status", [401, 429, 500])
def test_refused_run_is_an_error(hosted: Hosted, executor: Any, status: int):
    hosted.service.faults.status[hosted.run] = status
    with pytest.raises(ExecutorError, match=rf"did not run the code: .*{status}"):
        executor("1")
    hosted.service.faults.clear()
    assert executor("1").output == "1"


# E2B's sandboxes start their kernels themselves.
@pytest.mark.parametrize("running", ["blaxel", "modal"], indirect=True)
@pytest.mark.parametrize(("status", "seconds"), [(403, 60.0), (500, 5.0)])
def test_refused_kernel_ends_the_sandbox_and_tells_no_key(
    hosted: Hosted, status: int, seconds: float
):
    hosted.service.faults.status[hosted.start] = status
    with pytest.raises(ExecutorStartError, match=f": no kernel.*{status}") as caught:
        hosted.make(startup_timeout_seconds=seconds)
    assert hosted.key not in str(caught.value)
    assert set(hosted.service.sandboxes) <= hosted.service.shared


def test_silent_service_does_not_start_for_ever(hosted: Hosted):
    hosted.service.faults.silent.add(hosted.create)
    with pytest.raises(Exception, match=r"(?i)timed out"):
        hosted.make(**hosted.impatient)


def test_silent_service_does_not_run_for_ever(
    hosted: Hosted, executor: Any, monkeypatch: pytest.MonkeyPatch
):
    hosted.service.faults.silent.add(hosted.run)
    with monkeypatch.context() as patch:
        patch.setattr(executor, "timeout_seconds", 1.0)
        with pytest.raises(SandboxTimeoutError, match=r"code ran past timeout_seconds=1\.0; "):
            executor("1")
    hosted.service.faults.clear()
    assert executor("1").output == "1"


def test_failed_installation_ends_the_sandbox(hosted: Hosted):
    hosted.service.faults.status[hosted.run] = 500
    with pytest.raises(ExecutorError, match="did not run the code"):
        hosted.make(imports=("nowhere_found",))
    assert set(hosted.service.sandboxes) <= hosted.service.shared

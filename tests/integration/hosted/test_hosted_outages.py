"""Hosted services that are down, refuse, or say nothing."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from doubled_service import DoubledService

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.jupyter import connection
from tests.ports import free_port


@pytest.fixture(autouse=True)
def _short_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a service that may still notice an end: the sandboxes run on."""
    monkeypatch.setattr(connection, "_NOTICE_SECONDS", 0.2)


def test_no_service_is_an_error(hosted: DoubledService, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    hosted.lead(f"127.0.0.1:{port}", monkeypatch)
    with pytest.raises(Exception, match=r"(?i)connect|timed out"):
        hosted.make(**hosted.impatient)
    # An SDK that goes on trying for a minute, in a thread, stops when it reaches somebody.
    with socket.create_server(("127.0.0.1", port)):
        hosted.lead(hosted.address, monkeypatch)


@pytest.mark.parametrize("status", [401, 429, 500])
def test_refused_creation_is_the_sdks_error(hosted: DoubledService, status: int):
    hosted.faults.status[hosted.create] = status
    with pytest.raises(Exception, match=str(status)) as caught:
        hosted.make()
    assert type(caught.value).__name__ == hosted.refusals[status]


@pytest.mark.parametrize("status", [401, 429, 500])
def test_refused_connection_to_the_kernel_ends_the_sandbox(hosted: DoubledService, status: int):
    hosted.faults.status["/channels"] = status
    with pytest.raises(ExecutorStartError, match=rf"refused the WebSocket.*{status}"):
        hosted.make()


def test_connection_lost_between_calls_is_opened_again(hosted: DoubledService, executor: Any):
    executor("kept = 1")
    hosted.close_connections()
    assert executor("kept").output == 1
    hosted.close_connections()
    assert executor.is_alive()


def test_kernel_lost_with_the_connection_is_an_error(hosted: DoubledService):
    executor = hosted.make()
    executor("kept = 1")
    hosted.faults.status["/channels"] = 500
    hosted.close_connections()
    with pytest.raises(SandboxDiedError, match=r"between two calls.*its state is lost"):
        executor("kept")
    hosted.faults.clear()
    assert executor("'kept' in globals()").output is False


@pytest.mark.parametrize(("status", "seconds"), [(403, 60.0), (500, 5.0)])
def test_refused_kernel_ends_the_sandbox_and_tells_no_key(
    hosted: DoubledService, status: int, seconds: float
):
    hosted.faults.status["/api/kernels"] = status
    with pytest.raises(ExecutorStartError, match=f": no kernel gateway.*{status}") as caught:
        hosted.make(startup_timeout_seconds=seconds)
    assert hosted.key not in str(caught.value)
    assert set(hosted.sandboxes) <= hosted.shared


@pytest.mark.parametrize("running", ["e2b"], indirect=True)
def test_template_without_jupyter_is_refused_and_ended(
    hosted: DoubledService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hosted, "exit_code", 127)
    with pytest.raises(ExecutorStartError, match=r"the E2B sandbox has no jupyter: pass template="):
        hosted.make()
    assert set(hosted.sandboxes) <= hosted.shared


@pytest.mark.parametrize("running", ["e2b"], indirect=True)
def test_server_has_a_token_and_no_limit_of_rates(hosted: DoubledService):
    hosted.make()
    command = hosted.commands[-1]
    assert "limit_rate=False" in command
    assert "token" not in command  # a command line can be read by all


def test_silent_service_does_not_start_for_ever(hosted: DoubledService):
    hosted.faults.silent.add(hosted.create)
    with pytest.raises(Exception, match=r"(?i)timed out"):
        hosted.make(**hosted.impatient)


def test_silent_gateway_does_not_start_for_ever(hosted: DoubledService):
    hosted.faults.silent.add("/channels")
    with pytest.raises(ExecutorStartError, match=r"startup_timeout_seconds=2\.0"):
        hosted.make(startup_timeout_seconds=2.0)
    assert set(hosted.sandboxes) <= hosted.shared

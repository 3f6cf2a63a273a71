"""Faults of upstream's ModalExecutor that the fork repairs; a test fails when upstream does."""

from __future__ import annotations

import threading

import pytest
from hosted_services import Hosted
from smolagents import remote_executors
from smolagents.utils import AgentError

pytestmark = pytest.mark.parametrize("running", ["modal"], indirect=True)


@pytest.fixture
def upstream(hosted: Hosted) -> remote_executors.ModalExecutor:
    executor: remote_executors.ModalExecutor = hosted.make(hosted.upstream)
    return executor


def test_output_before_an_error_is_lost(upstream: remote_executors.ModalExecutor):
    with pytest.raises(AgentError) as caught:
        upstream("print('before')\nraise ValueError('so')")
    assert "ValueError" in str(caught.value)
    assert not str(caught.value).startswith("before")


def test_start_asks_a_failing_server_without_an_end(hosted: Hosted):
    faults = hosted.service.faults
    faults.status["/api/kernelspecs"] = 500
    starting = threading.Thread(target=hosted.make, args=(hosted.upstream,))
    starting.start()
    try:
        # Its limit is 60 questions; these are without a pause.
        while starting.is_alive() and faults.count("GET /api/kernelspecs") <= 70:
            starting.join(0.02)
        assert faults.count("GET /api/kernelspecs") > 70
    finally:
        faults.clear()
        starting.join()

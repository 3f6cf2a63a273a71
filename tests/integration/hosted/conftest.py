"""The doubled services, and executors on them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosted_services import PROBE, SERVICES, Hosted
from private_index import write_wheel


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.hosted)


@pytest.fixture(scope="session", params=SERVICES)
def running(request: pytest.FixtureRequest) -> Iterator[Hosted]:
    """A service that runs."""
    # Not pytest's folder: a kernel's sockets are inside, and a socket's path has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="hosted") as folder:
        packages = write_wheel(Path(folder), PROBE, origin="the service's").parent
        thread, describe = SERVICES[request.param](Path(folder), packages)
        with thread:
            hosted = describe(f"127.0.0.1:{thread.port}")
            hosted.thread = thread
            yield hosted
            with pytest.MonkeyPatch.context() as patch:
                hosted.lead(hosted.address, patch)
                hosted.close_shared()


@pytest.fixture
def hosted(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    """A service without faults, where the SDK finds it; closes the executors the test made."""
    running.lead(running.address, monkeypatch)
    yield running
    running.close()
    assert set(running.service.sandboxes) <= running.service.shared, "a sandbox was left"


@pytest.fixture
def executor(hosted: Hosted) -> Any:
    """An executor that the session's tests share; none relies on what another one left in it."""
    return hosted.shared_executor()

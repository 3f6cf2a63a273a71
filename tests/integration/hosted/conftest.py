"""The doubled services, and executors on them."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doubled_service import PROBE, DoubledService
from private_index import write_wheel


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.hosted)


#: Classes by module, which is imported late: each worker collects, and Modal's SDK takes long.
SERVICES = {
    "blaxel": "BlaxelService",
    "e2b": "E2BService",
    "modal": "ModalService",
}


@pytest.fixture(scope="session", params=SERVICES)
def running(request: pytest.FixtureRequest) -> Iterator[DoubledService]:
    """A service that runs."""
    # Not pytest's folder: a kernel's sockets are inside, and a socket's path has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="hosted") as folder:
        packages = write_wheel(Path(folder), PROBE, origin="the service's").parent
        module = importlib.import_module(f"{request.param}_service")
        service = getattr(module, SERVICES[request.param])(Path(folder), packages)
        with service.thread:
            yield service
            with pytest.MonkeyPatch.context() as patch:
                service.lead(service.address, patch)
                service.close_shared()


@pytest.fixture
def hosted(running: DoubledService, monkeypatch: pytest.MonkeyPatch) -> Iterator[DoubledService]:
    """A service without faults, where the SDK finds it; closes the executors the test made."""
    running.lead(running.address, monkeypatch)
    yield running
    running.close()
    assert set(running.sandboxes) <= running.shared, "a sandbox was left"


@pytest.fixture
def executor(hosted: DoubledService) -> Any:
    """An executor that the session's tests share; none relies on what another one left in it."""
    return hosted.shared_executor()

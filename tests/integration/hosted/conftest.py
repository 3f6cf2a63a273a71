"""The doubled services, and executors on them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosted_services import SERVICES, Hosted, write_probe


@pytest.fixture(scope="session", params=SERVICES)
def running(request: pytest.FixtureRequest) -> Iterator[Hosted]:
    """A service that runs, with an empty list of executors."""
    # Not pytest's folder: a kernel's sockets are inside, and a socket's path has 107 bytes at most.
    with (
        tempfile.TemporaryDirectory(prefix="hosted") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        write_probe(Path(folder))
        thread, describe = SERVICES[request.param](Path(folder), Path(folder))
        with thread:
            hosted = describe(f"127.0.0.1:{thread.port}")
            hosted.lead(hosted.address, patch)
            yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Iterator[Hosted]:
    """A service without faults; closes the executors the test made."""
    yield running
    running.close()
    assert set(running.service.sandboxes) <= running.service.shared, "a sandbox was left"


@pytest.fixture(scope="session")
def shared_executor(running: Hosted) -> Iterator[Any]:
    executor = running.start_shared()
    yield executor
    executor.cleanup()


@pytest.fixture
def executor(hosted: Hosted, shared_executor: Any) -> Any:
    """An executor that the session's tests share; they leave its kernel alive."""
    return shared_executor

"""An executor on a hosted service: as ``docker`` in the tests below, on the double of Blaxel."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hosted_services import Hosted, blaxel

from smolagents_fork.executors.hosted import BlaxelExecutor

_service_parts = ExitStack()


@functools.cache
def start_service() -> Hosted:
    """Start the service of this process, which serves until the end of the run."""
    # A short path: the kernels' sockets are inside.
    folder = Path(_service_parts.enter_context(tempfile.TemporaryDirectory(prefix="hosted")))
    thread, describe = blaxel(folder, folder)
    _service_parts.enter_context(thread)
    return describe(f"127.0.0.1:{thread.port}")


def lead_to_service(patch: pytest.MonkeyPatch) -> None:
    """Lead the SDK to the service of this process; tests of other files lead it elsewhere."""
    hosted = start_service()
    hosted.lead(hosted.address, patch)


class HostedExecutor(BlaxelExecutor):
    """``BlaxelExecutor`` on the double, whose kernels have the packages of the tests."""

    def __init__(
        self, _additional_imports: Sequence[str] = (), logger: Any = None, **keywords: Any
    ) -> None:
        super().__init__([], logger, **keywords)


def close() -> None:
    """Stop the service of this process."""
    _service_parts.close()
    start_service.cache_clear()

"""Faults of upstream's BlaxelExecutor that the fork repairs; a test fails when upstream does."""

from __future__ import annotations

import io

import blaxel_service
import pytest
from hosted_services import Hosted
from rich.console import Console
from smolagents import remote_executors
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.utils import AgentError

pytestmark = pytest.mark.parametrize("running", ["blaxel"], indirect=True)


@pytest.fixture
def upstream(hosted: Hosted) -> remote_executors.BlaxelExecutor:
    executor: remote_executors.BlaxelExecutor = hosted.make(hosted.upstream)
    return executor


def test_output_before_an_error_is_lost(upstream: remote_executors.BlaxelExecutor):
    with pytest.raises(AgentError) as caught:
        upstream("print('before')\nraise ValueError('so')")
    assert "ValueError" in str(caught.value)
    assert not str(caught.value).startswith("before")


def test_image_is_text(upstream: remote_executors.BlaxelExecutor):
    outcome = upstream("import PIL.Image\nPIL.Image.new('RGB', (3, 2), 'red')")
    assert outcome.output.startswith("<PIL.Image.Image image mode=RGB size=3x2")


def test_refused_kernel_logs_the_api_key(hosted: Hosted):
    hosted.service.faults.status[hosted.start] = 500
    written = io.StringIO()
    logger = AgentLogger(LogLevel.ERROR, Console(file=written, width=500))
    with pytest.raises(RuntimeError, match="Failed to create kernel: Status 500"):
        hosted.upstream([], logger)
    assert blaxel_service.KEY in written.getvalue()

"""docs/recipes/gpu.md: the request for a device reaches the engine."""

from __future__ import annotations

import pytest
from docker.types import DeviceRequest

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import ExecutorStartError


@pytest.mark.docker
def test_engine_without_a_gpu_refuses_the_request_in_its_own_words(engine):
    if "nvidia" in engine.info()["Runtimes"]:
        pytest.skip("this engine has NVIDIA's runtime")
    gpus = DeviceRequest(count=-1, capabilities=[["gpu"]])
    with pytest.raises(ExecutorStartError, match="could not select device driver"):
        DockerExecutor(container_run_kwargs={"device_requests": [gpus]})

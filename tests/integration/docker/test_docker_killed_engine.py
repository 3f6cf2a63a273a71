"""kill -9 of the engine: its containers end with their lease, though nobody closes their input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
import second_engine as engines
from background import eventually, process_gone
from second_engine import LONG_SECONDS, SecondEngine
from whole_contract import WHOLE

from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.images.image_plans import BASE_IMAGE_VARIABLE

LEASE_SECONDS = 4

HOST = """
import time
from smolagents_fork import DockerEngine
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import SandboxSpec
options = ContainerOptions(container_run_kwargs={{"command": ["sleep", "600"]}})
provisioner = DockerEngine({address!r}).connect(options)
sandbox = provisioner.start(SandboxSpec({image!r}, lease_seconds={lease}))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def second_engine(base_image: str) -> Iterator[SecondEngine]:
    """An engine with the base image."""
    if not base_image:
        pytest.skip(f"a second engine without a network needs {BASE_IMAGE_VARIABLE}")
    with engines.second_engine(base_image) as engine:
        yield engine


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.slow
@pytest.mark.limit(300)
def test_killed_engine_leaves_no_container_after_the_lease(second_engine, base_image):
    program = HOST.format(address=second_engine.address, image=base_image, lease=LEASE_SECONDS)
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    client = connect(EngineAddress(second_engine.address))
    try:
        assert host.stdout.readline() == "ready\n"
        (container,) = client.containers.list()
        first = client.api.inspect_container(container.id)["State"]["Pid"]
        assert not process_gone(first)
        second_engine.process.kill()
        second_engine.process.wait(LONG_SECONDS)
        # Its main process is not the engine's child, and its input stays open.
        assert eventually(lambda: process_gone(first), LEASE_SECONDS + LONG_SECONDS)
        assert host.poll() is None
    finally:
        disconnect(client)
        host.kill()
        host.wait(LONG_SECONDS)
        host.stdout.close()

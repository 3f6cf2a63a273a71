"""kill -9 of the host process: within the lease nothing is left, whatever the image is."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from background import eventually

from smolagents_fork.containers.owner import LABEL

LEASE_SECONDS = 2
# The engine's own work behind it, on a busy machine; quiet, one or two.
ENGINE_SECONDS = 60

OWN = (
    "FROM {image}\n"
    # A gateway as packaged: nothing of the fork's, whose own main process knows the lease too.
    'CMD ["python", "-m", "kernel_gateway", "--KernelGatewayApp.port=8888"]\n'
)
PROGRAM = """
import os, time
from smolagents_fork.containers import owner
# What removes the container is to be the lease: any process of this machine that starts an executor
# removes containers of this machine's dead processes.
owner.this_machine = lambda: "machine-of-" + str(os.getpid())
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.pool import DockerPool
{start}
print("ready", flush=True)
time.sleep(600)
"""


def containers_of(engine, pid):
    found = engine.api.containers(all=True, filters={"label": LABEL})
    return [s for s in found if f":{pid}:" in s["Labels"][LABEL]]


@pytest.fixture(scope="module")
def own_image(image, engine):
    from smolagents_fork.executors.docker import DockerExecutor

    return DockerExecutor.setup(
        dockerfile_content=OWN.format(image=image), progress=lambda _line: None
    )


@pytest.mark.parametrize("way", ["default", "image", "dockerfile_content", "pool", "no init"])
def test_killed_host_process_leaves_nothing_after_the_lease(image, own_image, engine, way):
    lease = f"lease_seconds={LEASE_SECONDS}"
    call = "; assert e('1+1').output == 2"
    start = {
        "default": f"e = DockerExecutor({lease})" + call,
        "image": f"e = DockerExecutor(image={own_image!r}, {lease})" + call,
        "dockerfile_content": (
            f"e = DockerExecutor(dockerfile_content={OWN.format(image=image)!r}, {lease})" + call
        ),
        "pool": (
            f"p = DockerPool(min_size=1, max_size=2, image={own_image!r}, {lease})\n"
            "assert p.wait_until_ready(timeout=120)"
        ),
        "no init": (
            f"e = DockerExecutor(image={own_image!r}, {lease}, "
            "container_run_kwargs={'init': False})" + call
        ),
    }[way]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(start=start)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        assert containers_of(engine, process.pid)
        # While the host lives the lease does not run, however long nothing is done.
        time.sleep(LEASE_SECONDS + 1 if way == "image" else 0)
        assert containers_of(engine, process.pid)
    finally:
        process.kill()
        process.wait(120)
        process.stdout.close()
    assert eventually(
        lambda: not containers_of(engine, process.pid), LEASE_SECONDS + ENGINE_SECONDS
    )


def test_main_process_keeps_its_own_exit_code_under_the_lease(image, engine):
    from smolagents_fork.containers.lease import leased

    for init in (True, False):
        container = engine.containers.create(
            image, init=init, **leased(["sh", "-c", "echo out; exit 7"], 5)
        )
        try:
            container.start()
            assert container.wait(timeout=120)["StatusCode"] == 7
            assert container.logs() == b"out\n"
        finally:
            container.remove(force=True)

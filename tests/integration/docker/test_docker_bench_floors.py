"""The Docker benchmark's floors work with the fork's image: kernel, pipes, a bare container."""

from __future__ import annotations

import pytest
from whole_contract import WHOLE

from smolagents_fork.executors.docker import DockerExecutor
from tools.bench.docker.floor import (
    answering_run,
    driver,
    echo,
    kernel_memory,
    socket_copies,
    start_kernel,
)
from tools.bench.docker.sides import memory


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_kernel_and_pipes_of_an_executors_container_answer(engine):
    with DockerExecutor(startup_timeout_seconds=180) as executor:
        assert executor("1+1").output == 2
        container = executor.container.id
        start_kernel(engine, container)
        with driver(container) as kernel, echo(container) as bare:
            assert kernel.ask("call") > 0
            assert kernel.ask("input 3") > 0
            assert bare.ask("1") == 1.0
        assert memory(engine, container) > 1 << 20
        assert executor("1+1").output == 2


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_bare_kernel_and_bare_python_answer(engine, image):
    assert kernel_memory(engine, image) > 1 << 20
    assert answering_run(engine, image) > 0


def test_bytes_go_to_another_process_and_back():
    assert len(socket_copies(1_000_000, 2)) == 2

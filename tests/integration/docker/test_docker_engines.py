"""Several engines in one process, each at its own address."""

from __future__ import annotations

import pytest
from docker_proxy import EngineProxy

from smolagents_fork import DockerEngine
from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.executors.docker import DockerExecutor, DockerPool

SOCKET = "unix:///var/run/docker.sock"


@pytest.fixture
def addresses(engine, image):
    """The engine's socket, and two ports in front of it, none of them in the environment."""
    with EngineProxy(engine) as first, EngineProxy(engine) as second:
        yield SOCKET, first, second


def starts(proxy):
    return [line for line in proxy.requests if "/containers/create" in line]


def test_executors_of_one_process_use_the_engines_they_were_given(addresses, make):
    socket, *proxies = addresses
    engines = [DockerEngine(f"tcp://127.0.0.1:{proxy.port}", tls=False) for proxy in proxies]
    executors = [make(engine=engine) for engine in (DockerEngine(socket), *engines)]
    assert [executor(f"{n} + 1").output for n, executor in enumerate(executors)] == [1, 2, 3]
    assert [len(starts(proxy)) for proxy in proxies] == [1, 1]
    # The end of one address is not that of another.
    proxies[0].close()
    assert executors[0]("'there'").output == executors[2]("'there'").output == "there"
    executors[2].delete()
    assert any("DELETE" in line for line in proxies[1].requests)


def test_pool_has_its_engine(addresses):
    proxy = addresses[1]
    engine = DockerEngine(f"tcp://127.0.0.1:{proxy.port}", tls=False)
    with DockerPool(min_size=1, max_size=1, engine=engine) as pool:
        assert pool.wait_until_ready(timeout=180)
        with DockerExecutor(pool=pool, engine=engine) as executor:
            assert executor("6 * 7").output == 42
            assert executor.engine is engine
        with pytest.raises(ConfigurationError, match="is decided by the pool"):
            DockerExecutor(pool=pool, engine=DockerEngine(SOCKET))
    assert len(starts(proxy)) >= 1


def test_address_without_an_engine_is_named_with_its_setting():
    with pytest.raises(
        EngineUnavailableError,
        match=r"no container engine answers at unix:///nowhere.sock: .*set host= of DockerEngine",
    ):
        DockerExecutor(engine=DockerEngine("unix:///nowhere.sock"))

"""Executors on a real engine, shared where isolation allows."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest
from background import eventually
from docker_proxy import EngineProxy
from docker_waiting import START_SECONDS

from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker.images.image_plans import BASE_IMAGE_VARIABLE
from smolagents_fork.sandboxes.process_owner import this_machine

SCIENCE = ["numpy", "pandas", "matplotlib", "PIL"]

Make = Callable[..., DockerExecutor]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session", autouse=True)
def base_image(engine: Any) -> str:
    """The base image that ``engine`` has chosen."""
    return os.environ.get(BASE_IMAGE_VARIABLE, "")


@pytest.fixture(scope="session")
def packaged_image(base_image: str) -> str:
    """An image with Jupyter's packaged gateway too, for images of users' own to start from."""
    requirements = ["jupyter_kernel_gateway"]
    return DockerExecutor.setup(requirements=requirements, progress=lambda _line: None)


@pytest.fixture
def make(image: str) -> Iterator[Make]:
    """Makes executors that are closed after the test, whatever happens in it."""
    with contextlib.ExitStack() as stack:

        def build(*args: Any, **keywords: Any) -> DockerExecutor:
            if "pool" not in keywords:
                keywords.setdefault("startup_timeout_seconds", START_SECONDS)
            return stack.enter_context(DockerExecutor(*args, **keywords))

        yield build


@pytest.fixture(scope="session")
def shared(image: str) -> Iterator[DockerExecutor]:
    """One executor for tests that leave it as they found it."""
    with DockerExecutor(timeout_seconds=120, startup_timeout_seconds=START_SECONDS) as executor:
        yield executor


@pytest.fixture(scope="session")
def science(base_image: str) -> Iterator[DockerExecutor]:
    """One executor with numpy, pandas, matplotlib and Pillow."""
    DockerExecutor.setup(SCIENCE, progress=lambda _line: None)
    with DockerExecutor(
        SCIENCE, timeout_seconds=120, startup_timeout_seconds=START_SECONDS
    ) as executor:
        yield executor


@pytest.fixture
def proxy(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineProxy]:
    """The engine over TCP on loopback: ``DOCKER_HOST`` names a port in front of its socket."""
    with EngineProxy(engine) as made:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{made.port}")
        yield made


@pytest.fixture
def create(engine: Any) -> Iterator[Callable[..., Any]]:
    """Creates containers without an executor, which are removed after the test."""
    made = []

    def create_one(*args: Any, **keywords: Any) -> Any:
        made.append(engine.containers.create(*args, **keywords))
        return made[-1]

    yield create_one
    for container in made:
        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True)


@pytest.fixture
def ended() -> str:
    """The text of an owner on this machine that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(60)
    return f"{this_machine()}:{process.pid}:1"


@pytest.fixture
def throw_away(engine):
    """Takes names of images to remove after the test."""
    names: set[str] = set()
    yield names.add

    def removed(name: str) -> bool:
        try:
            engine.api.remove_image(name)
        except docker.errors.ImageNotFound:
            return True
        except docker.errors.APIError:
            return False  # its container is being removed; by force, it would only lose its name
        return True

    # The newest first: an image that another is made from would only lose its name, too.
    for name in sorted(names, key=lambda name: image_created(engine, name), reverse=True):
        assert eventually(lambda name=name: removed(name))


def image_created(engine, name):
    """Return when an image was made, as text; empty if it is not there."""
    with contextlib.suppress(docker.errors.ImageNotFound):
        return engine.api.inspect_image(name)["Created"]
    return ""

"""The default image, and a server of HTTPS on loopback for the tests of listed hosts."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from web_servers import Server, authority, serving

from smolagents_fork import DockerExecutor


@pytest.fixture(scope="session")
def image(engine: Any) -> str:
    """The fork's default image, built once for the whole run."""
    return DockerExecutor.setup(progress=lambda _line: None)


#: Names of the servers of these tests.
NAMES = ("localhost", "api.test", "a.wild.test", "127.0.0.1", "::1")


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """A server's context, and the file with its authority."""
    return authority(tmp_path_factory.mktemp("authority"), *NAMES)


@pytest.fixture(scope="module")
def secure(trusted: tuple[ssl.SSLContext, str]) -> Iterator[Server]:
    """A server of HTTPS."""
    with serving(trusted[0]) as server:
        yield server

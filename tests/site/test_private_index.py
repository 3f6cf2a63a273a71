"""docs/recipes/private-index.md: images are built through the index that the environment names."""

from __future__ import annotations

import contextlib
import ipaddress
import random

import docker.errors
import pytest
from private_index import serving, write_wheel

from smolagents_fork import DockerExecutor


@pytest.mark.docker
def test_image_is_built_through_the_index_of_the_environment(
    engine, tmp_path, monkeypatch, request
):
    name = f"only_here_{random.randrange(10**9)}"
    write_wheel(tmp_path, name, origin="the private index")
    (network,) = engine.networks.get("bridge").attrs["IPAM"]["Config"]
    address = str(ipaddress.ip_network(network["Subnet"])[1])  # this machine's on the bridge
    DockerExecutor.setup(progress=lambda _line: None)  # its packages are in no private index
    with serving(tmp_path) as port:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://{address}:{port}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", address)
        image = DockerExecutor.setup(requirements=[name], progress=lambda _line: None)

    def throw_away() -> None:
        with contextlib.suppress(docker.errors.APIError):
            engine.api.remove_image(image, force=True)

    request.addfinalizer(throw_away)
    assert f":{port}" not in str(engine.api.history(image))
    with DockerExecutor(requirements=[name]) as executor:
        assert executor(f"import {name}\n{name}.ORIGIN").output == "the private index"
        assert f":{port}" not in executor("import os\nstr(dict(os.environ))").output

"""Executors that are made under upstream's names, as upstream's documentation makes them."""

from __future__ import annotations

import inspect
import json

import pytest
import requests
import smolagents
from smolagents import AgentLogger, CodeAgent, DockerExecutor, LogLevel
from smolagents import remote_executors as upstream

import smolagents_fork
from smolagents_fork.executors import hosted

HOSTED = ("BlaxelExecutor", "E2BExecutor", "ModalExecutor")


def test_names_of_upstream_give_the_forks_executors():
    assert DockerExecutor is smolagents.DockerExecutor is smolagents_fork.DockerExecutor
    for name in HOSTED:
        assert getattr(smolagents, name) is getattr(hosted, name)


def test_upstreams_classes_have_a_name_of_their_own():
    assert smolagents.UpstreamDockerExecutor is upstream.DockerExecutor
    assert smolagents.UpstreamDockerExecutor.__module__.startswith("smolagents.remote_executors")
    for name in HOSTED:
        assert getattr(upstream, name) is not getattr(smolagents, name)
        assert issubclass(getattr(smolagents, name), getattr(upstream, name))


def test_executors_are_accepted_where_upstreams_are():
    for kind in (upstream.DockerExecutor, upstream.RemotePythonExecutor, smolagents.PythonExecutor):
        assert issubclass(DockerExecutor, kind)
    assert not issubclass(smolagents_fork.ProcessExecutor, upstream.DockerExecutor)
    assert not issubclass(smolagents_fork.LocalPythonExecutor, upstream.RemotePythonExecutor)


#: Defaults that differ from upstream's: a fixed port and one image name keep two of upstream's from
#: running side by side; imports and logger may be left out.
OTHER_DEFAULTS = {"additional_imports": (), "logger": None, "port": None, "image_name": None}


def by_place(parameters):
    return [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]


def test_parameters_are_upstreams_in_upstreams_order_with_its_defaults():
    theirs = inspect.signature(upstream.DockerExecutor.__init__).parameters
    ours = inspect.signature(DockerExecutor.__init__).parameters
    # A release may take some by keyword only; the fork still takes them by place.
    upstreams = by_place(theirs)
    assert by_place(ours)[: len(upstreams)] == upstreams
    shared = [name for name in theirs if name in ours and name != "self"]
    assert len(shared) >= 9
    for name in shared:
        assert ours[name].default == OTHER_DEFAULTS.get(name, theirs[name].default), name


def kernels(container):
    """The ids that the container's gateway gives its kernels."""
    settings = dict(one.split("=", 1) for one in container.attrs["Config"]["Env"])
    address = f"http://127.0.0.1:8888/api/kernels?token={settings['KG_AUTH_TOKEN']}"
    code = f"import urllib.request as r; print(r.urlopen({address!r}, timeout=60).read().decode())"
    status, answer = container.exec_run(["/opt/kernel/bin/python", "-c", code])
    assert status == 0, answer
    return [kernel["id"] for kernel in json.loads(answer)]


@pytest.mark.docker
def test_agent_with_an_executor_made_by_position(engine, model):
    executor = DockerExecutor([], AgentLogger(level=LogLevel.OFF))
    model.answers = ["<code>import os\nfinal_answer((os.getuid(), 6 * 7))</code>"]
    with CodeAgent(tools=[], model=model, executor=executor, verbosity_level=0) as agent:
        assert isinstance(agent.python_executor, smolagents.UpstreamDockerExecutor)
        assert agent.run("anything") == (1000, 42)
        assert executor.container.id == executor.client.containers.get(executor.container.id).id
        assert kernels(executor.container) == [executor.kernel_id]
        assert executor.image_name in executor.container.image.tags
        assert executor.allow_pickle is False
        assert executor.dockerfile_content is None
        # Nothing is published, so there is no address.
        assert (executor.host, executor.port, executor.base_url, executor.ws_url) == (None,) * 4
    assert (executor.client, executor.container, executor.kernel_id) == (None,) * 3


@pytest.mark.docker
def test_addresses_of_a_published_port_are_those_of_the_gateway(engine):
    with DockerExecutor([], None, transport="port", network="bridge") as executor:
        assert executor.host == "127.0.0.1"
        assert executor.base_url == f"http://127.0.0.1:{executor.port}"
        address, _, token = executor.ws_url.partition("?")
        assert address == (
            f"ws://127.0.0.1:{executor.port}/api/kernels/{executor.kernel_id}/channels"
        )
        kernel = f"{executor.base_url}/api/kernels/{executor.kernel_id}"
        assert requests.get(f"{kernel}?{token}", timeout=20).json()["id"] == executor.kernel_id
        assert not requests.get(kernel, timeout=20).ok

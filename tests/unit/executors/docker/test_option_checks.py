"""Options that DockerExecutor refuses without an engine."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker.options import DockerOptions


@pytest.mark.parametrize(
    ("network", "words"), [("host", "the host's"), ("container:abc", "another container's")]
)
def test_networks_of_others_are_refused_with_the_reason(network, words):
    with pytest.raises(ConfigurationError) as caught:
        DockerOptions(network=network)
    assert f"network={network!r}" in str(caught.value)
    assert f"would share {words} network interfaces" in str(caught.value)
    assert "'bridge'" in str(caught.value)
    assert "allow_shared_network=True" in str(caught.value)
    assert DockerOptions(network=network, allow_shared_network=True).published is False


@pytest.mark.parametrize("name", ["network", "network_mode"])
@pytest.mark.parametrize("network", ["host", "container:abc"])
def test_networks_of_others_are_refused_among_the_engines_arguments(name, network):
    keywords = {"container_run_kwargs": {name: network}}
    with pytest.raises(ConfigurationError) as caught:
        DockerOptions(**keywords)
    assert f"container_run_kwargs[{name!r}]={network!r}" in str(caught.value)
    assert DockerOptions(**keywords, allow_shared_network=True).has_network


def test_no_port_on_the_network_of_others():
    with pytest.raises(ConfigurationError, match="no port can be published"):
        DockerOptions(network="host", transport="port", allow_shared_network=True)


@pytest.mark.parametrize(
    ("keywords", "published"),
    [
        ({}, False),
        ({"network": "bridge"}, False),
        ({"network": "bridge", "host": "127.0.0.1"}, False),
        ({"network": "bridge", "transport": "port"}, True),
        ({"network": "bridge", "port": 8888}, True),
        ({"network": "bridge", "host": "0.0.0.0"}, True),
        ({"network": "bridge", "transport": "exec", "port": 8888}, False),
        ({"port": 8888, "host": "0.0.0.0"}, False),
    ],
)
def test_port_is_published_only_where_it_is_asked_for(keywords, published):
    assert DockerOptions(**keywords).published is published


@pytest.mark.parametrize("user", ["0", "0:0", "root", "root:root", "00:1000", "", "0:1000"])
def test_root_is_refused_unless_it_is_allowed(user):
    for keywords in ({"user": user}, {"container_run_kwargs": {"user": user}}):
        with pytest.raises(ConfigurationError, match="allow_root=True"):
            DockerOptions(**keywords)
        assert DockerOptions(**keywords, allow_root=True).allow_root


@pytest.mark.parametrize("user", ["1000:1000", "1000", "1000:0", "jovyan"])
def test_other_users_are_taken(user):
    assert DockerOptions(user=user).user == user


def test_root_as_a_number_in_the_engines_arguments():
    with pytest.raises(ConfigurationError, match="allow_root=True"):
        DockerOptions(container_run_kwargs={"user": 0})


def test_whether_the_code_has_a_network():
    assert not DockerOptions().has_network
    assert DockerOptions(network="bridge").has_network
    assert DockerOptions(container_run_kwargs={"network_mode": "bridge"}).has_network
    options = DockerOptions(network="bridge", container_run_kwargs={"network": "none"})
    assert not options.has_network

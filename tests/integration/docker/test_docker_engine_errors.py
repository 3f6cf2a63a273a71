"""Errors of the engine say what to do."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys

import pytest
from ports import free_port
from smolagents.utils import AgentError

from smolagents_fork.errors import ConfigurationError, EngineUnavailableError, ExecutorStartError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes import removals


@pytest.mark.parametrize(
    "where", ["unix:///no/such/docker.sock", "tcp://127.0.0.1:9"], ids=["socket", "tcp"]
)
def test_engine_absent(monkeypatch, where):
    monkeypatch.setenv("DOCKER_HOST", where)
    with pytest.raises(EngineUnavailableError) as caught:
        DockerExecutor()
    assert f"no container engine answers at {where}: start Docker" in str(caught.value)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("tcp://user:pass@word@x:abc", "DOCKER_HOST='tcp://user:***@x:abc': Port could not be"),
        ("tcp://x:99999", "DOCKER_HOST='tcp://x:99999': Port out of range"),
        ("tcp://[::1", "DOCKER_HOST='tcp://[::1': Invalid IPv6 URL"),
    ],
)
def test_address_that_is_not_one(monkeypatch, where, words):
    monkeypatch.setenv("DOCKER_HOST", where)
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor()
    assert str(caught.value).startswith(words)


def configure(monkeypatch, tmp_path, content):
    """Give the user a Docker configuration; return the path of the file."""
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return path


@pytest.mark.parametrize(
    "content",
    [
        {"credsStore": "no-such-helper"},
        {"credHelpers": {"registry.invalid": "no-such-helper"}, "auths": {"other.invalid": {}}},
    ],
)
def test_credential_helper_that_is_not_installed(image, monkeypatch, tmp_path, content):
    path = configure(monkeypatch, tmp_path, content)
    built = f"FROM {image}\nLABEL test=helper-{secrets.token_hex(8)}\n"
    with DockerExecutor(dockerfile_content=built) as executor:
        assert executor("1 + 1").output == 2
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(image="localhost:9/not-there:1")
    assert str(caught.value).startswith(
        "image 'localhost:9/not-there:1' is not on the engine and cannot be pulled: build it, load "
        "it, or name another (pulling the image: "
    )
    assert str(caught.value).endswith(
        f"; no credentials were sent: {path} names docker-credential-no-such-helper, which is not "
        "installed: install it in a folder that PATH names by its absolute path, or take it out of "
        "the file"
    )


def test_credential_helper_that_fails(monkeypatch, tmp_path):
    program = tmp_path / "docker-credential-broken"
    program.write_text("#!/bin/sh\necho no session\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    path = configure(monkeypatch, tmp_path, {"credsStore": "broken"})
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(image="localhost:9/not-there:1")
    assert f"a credential helper of the Docker configuration {path} failed: " in str(caught.value)
    assert "no session" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        [],
        "5",
        {"auths": {"x": 5}},
        {"auths": {"x": {"auth": "!!"}}},
        {"proxies": {"default": 5}},
    ],
)
def test_configuration_of_other_types(monkeypatch, tmp_path, content):
    path = configure(monkeypatch, tmp_path, content)
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor()
    assert str(caught.value).startswith(f"docker-py cannot use the Docker configuration {path}: ")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("content", ["not JSON", {"currentContext": "no-such"}, {"credsStore": 5}])
def test_configuration_without_meaning_here(image, monkeypatch, tmp_path, content):
    configure(monkeypatch, tmp_path, content)
    with DockerExecutor() as executor:
        assert executor("1 + 1").output == 2


def test_engine_over_ssh_without_what_that_takes(monkeypatch):
    if importlib.util.find_spec("paramiko"):
        pytest.skip("docker-py has what it takes here")
    monkeypatch.setenv("DOCKER_HOST", "ssh://nobody@127.0.0.1")
    with pytest.raises(EngineUnavailableError, match=r"pip install 'docker\[ssh\]'"):
        DockerExecutor()


def test_permission_denied(tmp_path, engine):
    if os.getuid() != 0:
        pytest.skip("only root can become somebody who may not")
    path = tmp_path / "docker.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents):
        if os.stat(folder).st_mode & 0o001 == 0:
            os.chmod(folder, os.stat(folder).st_mode | 0o005)
    code = (
        "import os\n"
        "from smolagents_fork.executors.docker import DockerExecutor\n"
        "import docker, requests\n"
        "os.setuid(65534)\n"
        "try:\n    DockerExecutor()\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "DOCKER_HOST": f"unix://{path}"},
    )
    listener.close()
    assert done.stdout.startswith("EngineUnavailableError no container engine answers at unix://")
    assert "this user may not use the engine: add it to the group that owns the socket" in (
        done.stdout
    )


def test_wrong_runtime(image):
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor(runtime="no-such-runtime")
    assert "runtime='no-such-runtime'" in str(caught.value)
    assert "docker info" in str(caught.value)


def test_port_taken(image):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ExecutorStartError) as caught:
            DockerExecutor(network="bridge", port=port)
    assert f"port={port}" in str(caught.value)
    assert "pass port=None" in str(caught.value)


def test_network_that_does_not_exist(image):
    with pytest.raises(ConfigurationError, match="docker network create"):
        DockerExecutor(network="no-such-network")


def test_image_without_a_gateway(image):
    content = f'FROM {image}\nCMD ["sh", "-c", "echo nothing to do; exit 5"]\n'
    name = DockerExecutor.setup(dockerfile_content=content, progress=lambda _line: None)
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(image=name)
    assert "exit code 5" in str(caught.value)
    assert "; last log lines: nothing to do; an image of your own has to start a" in (
        str(caught.value)
    )


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"volumes": {"/no/such/folder": {"bind": "/data", "mode": "ro"}}}, "is not there"),
        ({"container_run_kwargs": {"no_such": 1}}, "unexpected keyword argument 'no_such'"),
        ({"image_name": "Not-A-Name"}, "image_name='Not-A-Name' the engine says: invalid"),
        ({"image": ""}, "image='' a name is empty"),
        ({"workdir": "/proc"}, "the engine says"),
    ],
    ids=["volumes", "container_run_kwargs", "image_name", "image", "workdir"],
)
def test_what_the_engine_refuses(image, keywords, words):
    with pytest.raises((ConfigurationError, ExecutorStartError)) as caught:
        DockerExecutor(**keywords)
    assert words in str(caught.value)
    # Only a runtime that there is not is told to be one.
    assert "docker info" not in str(caught.value)
    assert not os.path.exists("/no/such/folder")


@pytest.mark.parametrize("option", ["image", "base_image"])
@pytest.mark.parametrize("name", ["$(id).x/i", "other\nhost.invalid/i", "../containers/x"])
def test_odd_image_is_neither_an_address_of_the_engine_nor_given_to_a_helper(
    option, name, tmp_path, monkeypatch
):
    helper, asked = tmp_path / "docker-credential-x", tmp_path / "asked"
    helper.write_text(f"#!/bin/sh\ncat >> {asked}\nexit 1\n")
    helper.chmod(0o755)
    (tmp_path / "config.json").write_text('{"credsStore": "x"}')
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    with pytest.raises(ConfigurationError, match="is not a reference to an image"):
        DockerExecutor(**{option: name})
    assert not asked.exists()


def test_limits_that_are_too_low_to_start_in(image):
    with pytest.raises(ExecutorStartError, match=r"pids_limit=2 may be too low: .* about 20"):
        DockerExecutor(pids_limit=2)
    with pytest.raises(ExecutorStartError, match=r"memory='20m' may be too low: .* 90 MB"):
        DockerExecutor(memory="20m", workdir_size="1m", tmp_size="1m")


def test_published_port_on_a_network(make):
    executors = [make(network="bridge", transport="port") for _ in range(2)]
    ports = set()
    for executor in executors:
        assert executor("1+1").output == 2
        executor.container.reload()
        binding = executor.container.ports["8888/tcp"][0]
        assert binding["HostIp"] == "127.0.0.1"
        ports.add(binding["HostPort"])
        assert sorted(executor("import os; os.listdir('/sys/class/net')").output)[:1] == ["eth0"]
    assert len(ports) == 2


def test_chosen_port(make):
    port = free_port()
    executor = make(network="bridge", port=port)
    assert executor("1+1").output == 2
    executor.container.reload()
    assert executor.container.ports["8888/tcp"][0]["HostPort"] == str(port)


@pytest.mark.parametrize("transport", ["auto", "exec"])
def test_network_publishes_no_port_that_was_not_asked_for(make, transport):
    executor = make(network="bridge", transport=transport)
    assert executor("1+1").output == 2
    executor.container.reload()
    assert not any(executor.container.ports.values())


def test_internal_network_needs_no_port(image, engine):
    network = engine.networks.create(f"smolagents-fork-test-{os.getpid()}", internal=True)
    try:
        with DockerExecutor(network=network.name) as executor:
            assert executor("import os; sorted(os.listdir('/sys/class/net'))").output == [
                "eth0",
                "lo",
            ]
            executor.container.reload()
            assert not any(executor.container.ports.values())
            # The engine leaves the way out away, or drops what goes there.
            with pytest.raises(AgentError, match=r"Network is unreachable|timed out"):
                executor("import socket; socket.create_connection(('192.0.2.1', 80), 1)")
        with pytest.raises(ConfigurationError, match=r"transport='port': .* is internal"):
            DockerExecutor(network=network.name, transport="port")
    finally:
        removals.wait_until_tried(120)
        network.remove()

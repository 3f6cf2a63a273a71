"""Errors of the engine say what to do; one that does not answer is noticed in seconds."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import secrets
import socket
import subprocess
import sys
import time

import pytest
from background import acting
from docker_waiting import first_print, set_options
from ports import free_port
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes import removals
from smolagents_fork.sandboxes.docker import docker_provisioner

ABSENT = "^no container engine answers at {}: start Docker"


@pytest.mark.parametrize(
    ("where", "kind", "words"),
    [
        ("unix:///no/such.sock", EngineUnavailableError, ABSENT.format("unix:///no/such.sock")),
        ("tcp://127.0.0.1:9", EngineUnavailableError, ABSENT.format("tcp://127.0.0.1:9")),
        (
            "tcp://user:pass@word@x:abc",
            ConfigurationError,
            r"^DOCKER_HOST='tcp://user:\*\*\*@x:abc': Port could not be",
        ),
        ("tcp://x:99999", ConfigurationError, "^DOCKER_HOST='tcp://x:99999': Port out of range"),
        ("tcp://[::1", ConfigurationError, r"^DOCKER_HOST='tcp://\[::1': Invalid IPv6 URL"),
        ("ssh://nobody@127.0.0.1", EngineUnavailableError, r"pip install 'docker\[ssh\]'"),
    ],
    ids=["socket", "tcp", "port that is text", "port that is too large", "no address", "ssh"],
)
def test_address_without_an_engine(monkeypatch, where, kind, words):
    if where.startswith("ssh") and importlib.util.find_spec("paramiko"):
        pytest.skip("docker-py has what it takes here")
    monkeypatch.setenv("DOCKER_HOST", where)
    with pytest.raises(kind, match=words):
        DockerExecutor()


def configure(monkeypatch, tmp_path, content):
    """Give the user a Docker configuration; return the path of the file."""
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return path


def test_credential_helper_that_is_not_installed(image, monkeypatch, tmp_path):
    helpers = {"credHelpers": {"registry.invalid": "no-such-helper"}, "auths": {"x.invalid": {}}}
    path = configure(monkeypatch, tmp_path, helpers)
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


@pytest.mark.parametrize("content", ["not JSON", {"currentContext": "no-such", "credsStore": 5}])
def test_configuration_without_meaning_here(image, monkeypatch, tmp_path, content):
    configure(monkeypatch, tmp_path, content)
    with DockerExecutor() as executor:
        assert executor("1 + 1").output == 2


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


def test_port_taken(image):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ExecutorStartError) as caught:
            DockerExecutor(network="bridge", port=port)
    assert f"port={port}" in str(caught.value)
    assert "pass port=None" in str(caught.value)


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
        ({"container_run_kwargs": {"tmpfs": 5}}, "container_run_kwargs: Expected tmpfs value"),
        ({"container_run_kwargs": {"mem_limit": "x"}}, "container_run_kwargs: The specified value"),
        ({"image_name": "Not-A-Name"}, "image_name='Not-A-Name' the engine says: invalid"),
        ({"image": ""}, "image='' a name is empty"),
        ({"workdir": "/proc"}, "the engine says"),
        ({"runtime": "no-such-runtime"}, "runtime='no-such-runtime'"),
        ({"network": "no-such-network"}, "docker network create"),
    ],
    ids=[
        *("volumes", "container_run_kwargs", "tmpfs", "mem_limit"),
        *("image_name", "image", "workdir", "runtime", "network"),
    ],
)
def test_what_the_engine_refuses(image, keywords, words):
    with pytest.raises((ConfigurationError, ExecutorStartError)) as caught:
        DockerExecutor(**keywords)
    assert words in str(caught.value)
    # Only a runtime that there is not is told to be one.
    assert ("docker info" in str(caught.value)) is ("runtime" in keywords)
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


def host_ports(executor):
    """Return addresses and ports of the host that lead to the container."""
    executor.container.reload()
    published = [port for bound in executor.container.ports.values() for port in bound or ()]
    return [(port["HostIp"], port["HostPort"]) for port in published]


def test_published_port_on_a_network(make):
    executors = [make(network="bridge", transport="port") for _ in range(2)]
    assert [executor("1+1").output for executor in executors] == [2, 2]
    names = executors[0]("import os; sorted(os.listdir('/sys/class/net'))").output
    assert names[:1] == ["eth0"]
    ((first_host, first),), ((second_host, second),) = map(host_ports, executors)
    assert first_host == second_host == "127.0.0.1"
    assert first != second
    chosen = free_port()
    executor = make(network="bridge", port=chosen)
    assert executor("1+1").output == 2
    assert [port for _, port in host_ports(executor)] == [str(chosen)]


def test_network_publishes_no_port_that_was_not_asked_for(make):
    executor = make(network="bridge")
    assert executor("1+1").output == 2
    assert host_ports(executor) == []


def test_internal_network_needs_no_port(image, engine):
    network = engine.networks.create(f"smolagents-fork-test-{os.getpid()}", internal=True)
    try:
        with DockerExecutor(network=network.name) as executor:
            assert executor("import os; sorted(os.listdir('/sys/class/net'))").output == [
                "eth0",
                "lo",
            ]
            assert host_ports(executor) == []
            # The engine leaves the way out away, or drops what goes there.
            with pytest.raises(AgentError, match=r"Network is unreachable|timed out"):
                executor("import socket; socket.create_connection(('192.0.2.1', 80), 1)")
        with pytest.raises(ConfigurationError, match=r"transport='port': .* is internal"):
            DockerExecutor(network=network.name, transport="port")
    finally:
        removals.wait_until_tried(120)
        network.remove()


def test_image_without_a_command_says_what_it_has_to_start(engine):
    tag = "smolagents-fork-test-no-command"
    engine.images.build(fileobj=io.BytesIO(b"FROM scratch\nLABEL a=1\n"), tag=tag, rm=True)
    try:
        message = f"image '{tag}' has no command .*Jupyter kernel gateway on port 8888"
        with pytest.raises(ExecutorStartError, match=message):
            DockerExecutor(image=tag)
    finally:
        engine.images.remove(tag)


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_engine_that_accepts_and_never_answers(monkeypatch, tmp_path, kind):
    if kind == "unix":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "s"))
        listener.listen(8)
        where = f"unix://{tmp_path}/s"
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        where = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setenv("DOCKER_HOST", where)
    with listener:
        with pytest.raises(EngineUnavailableError) as caught:
            DockerExecutor()
        assert where in str(caught.value)
        assert "accepts connections there and does not answer" in str(caught.value)
        assert "docker info" in str(caught.value)


def test_engine_that_freezes_in_mid_call(make, proxy):
    executor = make(timeout_seconds=1200, lease_seconds=5)
    # Longer than a test may run, unless it is noticed.
    code = "print('begun', flush=True)\nimport time; time.sleep(600)"
    with (
        acting(first_print(executor).is_set, proxy.freeze),
        pytest.raises(SandboxDiedError, match="does not answer") as caught,
    ):
        executor(code)
    assert "its state is lost" in str(caught.value)
    # The next call says so too.
    with pytest.raises(EngineUnavailableError):
        executor("1")
    executor.cleanup()
    proxy.heal()


def test_engine_that_freezes_where_a_container_is_attached(image, proxy, monkeypatch):
    monkeypatch.setattr(docker_provisioner, "API_TIMEOUT_SECONDS", 1)
    proxy.freezing_at = b"/attach?"

    def thaw():  # the container is removed then; the question is never answered
        time.sleep(2)
        proxy.heal()

    with (
        acting(lambda: proxy.is_frozen, thaw),
        pytest.raises(EngineUnavailableError, match=r"starting the container.* not answer"),
    ):
        DockerExecutor()


def test_long_quiet_code_is_not_taken_for_a_frozen_engine(shared):
    assert shared("import time; time.sleep(6); 'done'").output == "done"


def test_busy_code_is_not_taken_for_a_frozen_engine(make):
    # A tenth of a core for gateway and kernel together: pongs come late, the engine answers.
    executor = make(
        cpus=0.1, timeout_seconds=7, startup_timeout_seconds=120, interrupt_grace_seconds=60
    )
    with pytest.raises(SandboxTimeoutError, match="state kept"):
        executor("while True: pass")
    set_options(executor, timeout_seconds=60)
    assert executor("'alive'").output == "alive"

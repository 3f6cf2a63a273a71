"""Arguments that users get wrong: refused before any engine is asked, with what to give instead."""

from __future__ import annotations

import math
from typing import Any

import pytest

from smolagents_fork import AgentSandbox
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.executors.docker.agent_sandbox import AgentArguments
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.sandboxes.docker import engine
from smolagents_fork.sandboxes.docker.create_arguments import container_arguments, volume_arguments

MIB = 1 << 20


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"memory": "-5m"}, "memory='-5m'"),
        ({"memory": "\uff16\uff10m"}, "memory='\uff16\uff10m'"),
        ({"memory": "1b"}, "leave nothing of memory='1b': lower them or raise it"),
        # What tmpfs reads as "no limit".
        ({"workdir_size": "0"}, "workdir_size='0'"),
        ({"workdir_size": "0.0001k"}, "workdir_size='0.0001k'"),
        ({"cpus": 0}, "cpus=0: pass a number of cores, at least 0.01, or None for no limit"),
        # What the engine rounds to nothing, its word for all of them.
        ({"cpus": 1e-10}, "cpus=1e-10"),
        ({"cpus": math.nan}, "cpus=nan"),
        ({"pids_limit": 0}, "pids_limit=0: pass a whole number above 0, or None for no limit"),
        ({"timeout_seconds": 0}, "timeout_seconds=0: pass a finite number of seconds above 0"),
        ({"port": "80"}, "port='80': pass 1 to 65535, or None"),
        # What is no address the engine takes for all of them: open to everybody.
        ({"host": "999.1.1.1"}, "host='999.1.1.1': pass an address"),
        ({"host": "my-machine"}, "host='my-machine': pass an address"),
        ({"user": 1000}, "user=1000: pass text such as '1000:1000'"),
        ({"workdir": None}, "workdir=None: pass an absolute path"),
        ({"on_death": "panic"}, "on_death='panic': pass one of 'restart', 'fail'"),
        ({"transport": "port"}, "transport='port' needs a network"),
        ({"environment": ["A=1"]}, r"environment=\['A=1'\]: pass a mapping"),
        ({"environment": {"A": None}}, r"environment\['A'\]=None: pass text or a number"),
        ({"environment": {"A": {"b": 1}}}, r"environment\['A'\]="),
        ({"environment": {"A": b"x"}}, r"environment\['A'\]=b'x'"),
        ({"environment": {"A": "x\0y"}}, "a value cannot have a NUL byte"),
        ({"environment": {"A=B": "c"}}, "'A=B' is not a variable name"),
        ({"environment": {"": "c"}}, "'' is not a variable name"),
        ({"environment": {1: "c"}}, "1 is not a variable name"),
        ({"volumes": {"/tmp": "/data"}}, r"volumes=\{'/tmp': '/data'\}: pass \{'/data': \{'bind'"),
        ({"volumes": {"/tmp": {"mode": "ro"}}}, "the path of the engine's machine comes first"),
        ({"volumes": {"/tmp": {"bind": "/data", "ro": True}}}, "volumes="),
        ({"volumes": {"/tmp": {"bind": "data"}}}, "'/tmp' at 'data' of the container"),
        ({"volumes": ["/tmp"]}, r"volumes=\['/tmp'\]: pass"),
        ({"volumes": "/tmp:/data"}, "volumes='/tmp:/data': pass"),
        ({"requirements": "numpy"}, r"requirements='numpy': pass a list, such as \['numpy'\]"),
        ({"tool_placement": ["a"]}, r"tool_placement=\['a'\]: pass a mapping"),
    ],
)
def test_refused_with_what_to_give_instead(keywords, words):
    with pytest.raises(ConfigurationError, match=words):
        DockerOptions.of("DockerExecutor", (), keywords)


@pytest.mark.parametrize(
    ("executor_class", "option"),
    [(DockerExecutor, "environment"), (AgentSandbox, "environment"), (AgentSandbox, "secrets")],
)
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "all_proxy", "No_Proxy"])
def test_variables_of_the_list_of_hosts_are_refused(executor_class, option, name):
    with pytest.raises(ConfigurationError) as caught:
        executor_class(allowed_hosts=["example.org"], **{option: {name: "http://proxy.test"}})
    assert str(caught.value) == (
        f"{option}[{name!r}]: a sandbox with allowed_hosts= sets this variable itself; "
        "leave it out, or pass another name"
    )


@pytest.mark.parametrize("options_class", [DockerOptions, AgentArguments])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("environment['KG_IP']", {"environment": {"KG_IP": "0.0.0.0"}}),
        (
            "container_run_kwargs['environment']['KG_AUTH_TOKEN']",
            {"container_run_kwargs": {"environment": ["KG_AUTH_TOKEN=x"]}},
        ),
    ],
)
def test_variables_of_the_kernel_gateway_are_refused(options_class, name, arguments):
    with pytest.raises(ConfigurationError) as caught:
        options_class.of("Executor", (), arguments)
    assert str(caught.value) == (
        f"{name}: variables that begin with KG_ are the executor's, for the kernel gateway; "
        "leave it out, or pass another name"
    )


@pytest.mark.parametrize(
    "refused",
    [
        lambda: DockerExecutor("numpy"),
        lambda: DockerExecutor(additional_authorized_imports="numpy"),
        lambda: DockerExecutor.setup("numpy"),
        lambda: DockerPool(additional_imports="numpy"),
    ],
    ids=["positional", "agents' keyword", "setup", "pool"],
)
def test_one_text_is_not_taken_for_a_list_of_its_letters(refused):
    with pytest.raises(ConfigurationError, match=r"='numpy': pass a list, such as \['numpy'\]"):
        refused()


def test_numbers_in_the_environment_are_text_in_the_container():
    spec = DockerOptions.of(
        "DockerExecutor", (), {"environment": {"A": 1, "B": 2.5, "C": True, "D": ""}}
    ).sandbox_spec("image")
    assert spec.environment == {"A": "1", "B": "2.5", "C": "True", "D": ""}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("name", "mine", "each container has a name of its own, by which it is removed"),
        ("image", "mine", "pass image="),
        ("detach", False, "the executor attaches to the container itself"),
        ("stdin_open", False, "the container's lease is renewed through its standard input"),
        ("tty", True, "code could write to a terminal's input, by which the lease is renewed"),
        ("remove", False, "the engine removes a container that has ended"),
        ("stream", True, "the executor returns the output of code"),
        ("stdout", False, "the executor returns the output of code"),
        ("stderr", False, "the executor returns the output of code"),
    ],
)
def test_arguments_of_docker_py_without_effect_are_refused(name, value, reason):
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor(container_run_kwargs={name: value})
    message = f"container_run_kwargs[{name!r}]={value!r}: {reason}"
    assert str(caught.value).startswith(message)


def test_arguments_of_docker_py_that_change_nothing_are_accepted():
    extra = {"detach": True, "remove": True, "stdin_open": True, "stdout": True, "name": None}
    options = DockerOptions.of("DockerExecutor", (), {"container_run_kwargs": extra})
    assert options.container.container_run_kwargs == extra


@pytest.mark.parametrize("environment", ["A=b", [("A", "b")], 3])
def test_environment_of_docker_py_in_another_form_is_refused(environment):
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor(container_run_kwargs={"environment": environment})
    assert str(caught.value) == (
        "container_run_kwargs['environment'] is not a mapping, nor a list of text such as "
        "['NAME=value']"
    )


def test_localhost_is_published_on_loopback_only():
    options = DockerOptions.of("DockerExecutor", (), {"host": "localhost", "network": "bridge"})
    arguments = container_arguments(
        options.sandbox_spec("image"), options.container, "name", token="token", published=True
    )
    assert arguments["ports"] == {"8888/tcp": ("127.0.0.1", None)}


def test_folders_are_bind_mounts_and_the_rest_is_left_as_it_is():
    arguments = volume_arguments(
        {
            "/in": {"bind": "/data", "mode": "ro"},
            "/out": {"bind": "/results"},
            "named": {"bind": "/store", "mode": "rw"},
            "/labelled": {"bind": "/z", "mode": "ro,Z"},
        }
    )
    assert [(m["Source"], m["Target"], m["Type"], m["ReadOnly"]) for m in arguments["mounts"]] == [
        ("/in", "/data", "bind", True),
        ("/out", "/results", "bind", False),
    ]
    assert arguments["volumes"] == ["named:/store:rw", "/labelled:/z:ro,Z"]
    same = volume_arguments(["/in:/data:ro", "/out:/results", "named:/store", "/labelled:/z:ro,Z"])
    assert same == arguments
    assert volume_arguments(None) == {}


def test_image_without_python_is_said_to_need_one():
    words = 'exec: "python3": executable file not found in $PATH: unknown'
    error = engine._api_error(f"starting the container: {words}", words)
    assert "the image has no python3 on its PATH: an image of your own needs one" in str(error)


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


def test_option_given_with_its_default_counts_in_a_pool():
    with DockerPool(min_size=0, memory="1g", timeout_seconds=5) as pool:

        def asked(**given: Any) -> DockerOptions:
            return pool.options_for(DockerOptions.of("DockerExecutor", (), given), ())

        assert asked().memory == asked(memory="1g").memory == "1g"
        with pytest.raises(
            ConfigurationError, match="memory='2g' is decided by the pool, which has '1g"
        ):
            asked(memory="2g")
        assert asked().timeout_seconds == 5
        assert asked(timeout_seconds=60.0).timeout_seconds == 60

"""Arguments of RayEngine: all are checked before anything starts."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from background import run_python

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine, ray_cluster
from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.executors.administration import ray_checks
from smolagents_fork.executors.engine_factory import EngineFactory
from smolagents_fork.sandboxes.engine_protocol import Engine
from tools.paths import ROOT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"slots_per_node": 0}, "slots_per_node=0: pass a whole number from 1 to 1000"),
        ({"slots_per_node": True}, "slots_per_node=True: pass a whole number from 1 to 1000"),
        ({"sandbox": "vm"}, "sandbox='vm': pass one of 'docker', 'process'"),
        ({"address": ""}, "address='': pass text such as '10.0.0.1:6379', or None"),
        ({"lease_seconds": 1.0}, "lease_seconds=1.0: pass 5 or more"),
        ({"cpus_per_slot": -1}, "cpus_per_slot=-1: pass a number of cores, 0 or more, or None"),
        ({"memory_per_slot": "much"}, "memory_per_slot='much': pass text with a unit"),
        ({"tenant": None}, "tenant=None: pass up to 200 printable characters"),
        ({"tenant": "a\n"}, "tenant='a\\n': pass up to 200 printable characters"),
        ({"connect_timeout_seconds": 0}, "connect_timeout_seconds=0: pass a finite number"),
        ({"allow_no_token": "yes"}, "allow_no_token='yes': pass True or False"),
    ],
)
def test_wrong_argument_is_refused(arguments: dict[str, Any], words: str):
    with pytest.raises(ConfigurationError) as caught:
        RayEngine(**arguments)
    assert words in str(caught.value)


def test_engine_is_a_value():
    assert isinstance(RayEngine(), Engine)
    assert RayEngine("a:1") == RayEngine("a:1") != RayEngine("b:1")
    assert len({RayEngine("a:1"), RayEngine("a:1")}) == 1


def test_host_never_imports_ray():
    program = (
        "import sys; from smolagents_fork import RayEngine; RayEngine('a:1')\n"
        "import smolagents_fork.ray_cluster.supervisors\n"
        "print('ray' in sys.modules)"
    )
    assert run_python(program) == "False\n"


def test_every_wait_for_ray_has_a_limit():
    """Ray's own answer about a lost node takes a minute."""
    (folder,) = ray_cluster.__path__
    trees = [ast.parse(path.read_text("utf-8")) for path in Path(folder).rglob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    waits = [call for call in calls if ast.unparse(call.func) in ("ray.get", "ray.wait")]
    assert waits
    for wait in waits:
        assert "timeout" in [keyword.arg for keyword in wait.keywords], ast.unparse(wait)


def test_no_address_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(EngineUnavailableError, match="or set RAY_ADDRESS"):
        ProcessExecutor(engine=RayEngine(sandbox="process"))


@pytest.mark.parametrize("address", ["", "head:1"])
def test_check_reads_the_address(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr(RayEngine, "check", lambda _self: address)
    (check,) = ray_checks()
    found = check.run()
    assert (found.state, found.text) == (
        ("ok", "head:1 answers and takes the token of this process")
        if address
        else ("failed", "RAY_ADDRESS is not set")
    )


def test_missing_package_says_which_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EngineUnavailableError, match=r"pip install 'smolagents\[ray\]'"):
        RayEngine("127.0.0.1:1", sandbox="process").cluster()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"sandbox": "process", "slots_per_nod": 3}, "did you mean 'slots_per_node'?"),
        ({"slots_per_nod": 3}, "did you mean 'slots_per_node'?"),
        ({"sandbox": "process", "memroy": "1g"}, "did you mean 'memory'?"),
        ({"sandbox": "process", "odd": 1}, "known are: additional_authorized_imports, "),
    ],
)
def test_unknown_keyword_is_compared_with_those_of_engine_and_executor(
    keywords: dict[str, Any], words: str
):
    with pytest.raises(ConfigurationError) as caught:
        EngineFactory("ray", RayEngine)([], None, address="127.0.0.1:1", **keywords)
    assert str(caught.value).startswith("executor_type='ray' has no parameter ")
    assert words in str(caught.value)


@pytest.mark.ray
@pytest.mark.usefixtures("ray_installed")
def test_cluster_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(EngineUnavailableError, match="lets anyone who reaches it run code"):
        RayEngine("127.0.0.1:1", sandbox="process").cluster()
    with pytest.raises(EngineUnavailableError, match=r"the head .* at 127\.0\.0\.1:1 cannot be"):
        RayEngine("127.0.0.1:1", sandbox="process", allow_no_token=True).cluster()


@pytest.mark.ray
@pytest.mark.usefixtures("ray_installed")
def test_silent_server_is_said_within_the_engines_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 48)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = RayEngine(
            f"127.0.0.1:{silent.getsockname()[1]}",
            sandbox="process",
            connect_timeout_seconds=0.05,
        )
        with pytest.raises(EngineUnavailableError, match=r"sent nothing within 0\.05 s"):
            place.cluster()


def test_every_argument_is_on_the_page():
    page = (ROOT / "docs" / "executors" / "ray.md").read_text("utf-8")
    table = page.split("## Arguments")[1].split("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", table, re.MULTILINE))
    assert {name: ast.literal_eval(text.strip()) for name, text in told.items()} == {
        field.name: field.default for field in dataclasses.fields(RayEngine)
    }


def test_engine_of_other_sandboxes_is_refused():
    with pytest.raises(ConfigurationError, match="use DockerExecutor"):
        ProcessExecutor(engine=RayEngine("127.0.0.1:1"))
    with pytest.raises(ConfigurationError, match="runs no containers: use ProcessExecutor"):
        DockerExecutor(engine=RayEngine("127.0.0.1:1", sandbox="process"))
    with pytest.raises(ConfigurationError, match="runs no confined processes"):
        ProcessExecutor(engine="ray")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["volumes", "host", "port"])
def test_options_of_this_machine_are_refused(name: str):
    value = {"volumes": ["/a:/b"], "host": "0.0.0.0", "port": 8888}[name]
    with pytest.raises(ConfigurationError, match=f"{name}="):
        DockerExecutor(engine=RayEngine("127.0.0.1:1"), **{name: value})


def test_tenant_is_of_the_executor_and_of_an_engine_made_for_it(monkeypatch: pytest.MonkeyPatch):
    given: list[dict[str, Any]] = []

    def recorded(
        self: Any, imports: Any, logger: Any, *, engine: Any, tenant: str = "", **options: Any
    ) -> None:
        given.append({"tenant": tenant, "engine": engine, **options})

    monkeypatch.setattr(DockerExecutor, "__init__", recorded)
    make = EngineFactory("ray", RayEngine)
    make([], None, tenant="a", address="h:1")
    make([], None, tenant="b", engine=RayEngine("h:1"))
    assert [one["tenant"] for one in given] == ["a", "b"]
    assert [one["engine"] for one in given] == [RayEngine("h:1", tenant="a"), RayEngine("h:1")]

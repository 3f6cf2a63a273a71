"""Secrets and their placeholders: what is accepted, and where no value is."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest
from scripted_model import Script
from secret_servers import OTHER, TOKEN
from smolagents import CodeAgent

from smolagents_fork import AllowedHost, ProcessExecutor, Secret
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.process.process_options import ProcessOptions
from smolagents_fork.network.secrets.secret import check_reach, secrets_or_none
from smolagents_fork.network.secrets.secret_table import SecretTable, make_placeholder

HOSTS = ["api.test"]


@pytest.mark.parametrize(
    "value", ["", "short1", " padded-value-1", "line\nbreak-1234", "Ünïcode-12345", 12345678, None]
)
def test_value_that_cannot_be_a_secret_is_refused_without_being_shown(value):
    with pytest.raises(ConfigurationError) as caught:
        Secret(value, HOSTS)
    assert not value or str(value).strip() not in str(caught.value)


@pytest.mark.parametrize("hosts", [[], "api.test", None, ["a b"], ["https://a.test"]])
def test_hosts_are_checked(hosts):
    with pytest.raises(ConfigurationError) as caught:
        Secret(TOKEN, hosts)
    assert TOKEN not in str(caught.value)


def test_text_forms_have_no_value():
    secret = Secret(TOKEN, HOSTS)
    table = SecretTable({"A": secret}, lambda _: None)
    options = ProcessOptions(allowed_hosts=HOSTS, secrets={"A": secret})
    assert repr(secret) == str(secret) == "Secret(hosts=['api.test'])"
    assert TOKEN not in f"{secret} {table!r} {options!r}"


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_no_copy_is_made(copied):
    with pytest.raises(TypeError, match="a Secret cannot be pickled or copied"):
        copied(Secret(TOKEN, HOSTS))


def test_agent_with_a_secret_is_not_saved(tmp_path):
    options = {"allowed_hosts": HOSTS, "secrets": {"A": Secret(TOKEN, HOSTS)}}
    with CodeAgent(
        tools=[], model=Script(), executor_class=ProcessExecutor, executor_kwargs=options
    ) as agent:
        with pytest.raises(ConfigurationError, match="the agent cannot be saved") as caught:
            agent.save(tmp_path / "agent")
        assert TOKEN not in f"{caught.value} {agent.to_dict()}"
    assert not any(TOKEN in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_value_within_another_is_refused():
    for values in ((TOKEN, TOKEN), (TOKEN, f"x{TOKEN}"), (f"x{TOKEN}", TOKEN)):
        given = {name: Secret(value, HOSTS) for name, value in zip("AB", values, strict=True)}
        with pytest.raises(ConfigurationError, match="the value of one secret contains that of"):
            secrets_or_none("secrets", given)


REACHED = [
    ("api.test", "api.test", True),
    ("api.test:443", "api.test", True),
    ("api.test:8443", "api.test", False),
    ("*.api.test", "api.test", False),
    ("*.test", "api.test", True),
    ("*.test", "*.api.test", True),
    ("*.api.test", "*.test", False),
    ("api.test", "*.api.test", False),
    ("*.est", "*.test", False),
]


@pytest.mark.parametrize(("allowed", "host", "reached"), REACHED)
def test_hosts_of_a_secret_are_in_the_list(allowed, host, reached):
    secrets = {"A": Secret(TOKEN, [host])}
    if reached:
        check_reach(secrets, [AllowedHost(allowed)])
    else:
        with pytest.raises(ConfigurationError, match=r"secrets\['A'\]: host .* is not in"):
            check_reach(secrets, [AllowedHost(allowed)])


@pytest.mark.parametrize("value", [TOKEN, OTHER, "AbC-12.34:xyZ/+=", "12345678", "pass word Nr 1"])
def test_placeholder_has_the_shape_and_not_the_value(value):
    placeholder = make_placeholder(value)
    assert len(placeholder) == len(value)
    for ours, theirs in zip(placeholder, value, strict=True):
        tests = (str.isdigit, str.isupper, str.islower)
        assert [test(ours) for test in tests] == [test(theirs) for test in tests]
        assert ours == theirs or theirs.isalnum()
    assert placeholder != value


@pytest.mark.parametrize(
    ("value", "prefix"),
    [(TOKEN, "ghp_"), (OTHER, "sk-"), ("github_pat_0123456789abcdefghij", "github_")],
)
def test_kind_of_a_token_stays(value, prefix):
    assert make_placeholder(value).startswith(prefix)


def test_missing_package_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("smolagents_fork.network.")]:
        if name.endswith((".secret_access", ".authority")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    options = ProcessOptions(allowed_hosts=HOSTS, secrets={"A": Secret(TOKEN, HOSTS)})
    with pytest.raises(ConfigurationError, match="secrets= needs cryptography") as caught:
        options.network_proxy("ProcessExecutor")
    assert "pip install 'smolagents[egress]'" in str(caught.value)
    assert ProcessOptions(allowed_hosts=HOSTS).network_proxy("ProcessExecutor") is not None

"""Listed hosts, by a real server of this machine."""

from __future__ import annotations

import json

import pytest
from background import PATIENCE_SECONDS, eventually
from contract_declarations import behaviour
from contract_kinds import WIDE
from secret_servers import TOKEN, SecretHandler
from web_servers import authority, serving

from smolagents_fork import Secret
from smolagents_fork.control.proposals import AgentStep, stepping
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.network.hosts.host_policy import AllowedHost

GET = "import os, urllib.request\nurllib.request.urlopen('http://{}/a', timeout=60).read().decode()"


USE = (
    "import os, json, urllib.request\n"
    "fields = {{'Authorization': 'Bearer ' + os.environ['TOKEN']}}\n"
    "request = urllib.request.Request('https://{}/echo', headers=fields)\n"
    "urllib.request.urlopen(request, timeout=60).read().decode()"
)


def refuses_the_list(contract, **options) -> bool:
    """Tell whether the executor has no list of hosts; then it says so."""
    # Services, and child processes on nodes, have no connection to the proxy of this process.
    if not contract.differs and contract.kind.column not in ("hosted", "ray-process"):
        return False
    options = options or {"allowed_hosts": ["example.org"]}
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        contract.make(WIDE, **options)
    return True


@behaviour(
    "Network",
    "A host that is not in the list is named in the error of the step, or in its logs.",
)
def test_unlisted_hosts_are_named(contract):
    if refuses_the_list(contract):
        return
    made = contract.make(WIDE, allowed_hosts=["example.org"])
    with serving() as server:
        with pytest.raises(Exception, match="urllib"):
            made(GET.format(f"localhost:{server.port}"))
        assert server.accepted == 0
    with pytest.raises(Exception, match="urllib") as caught:
        made(GET.format("evil.test"))
    told = (
        "\nRefused by the network proxy: host 'evil.test' is not in allowed_hosts=['example.org'] "
        f"of this {type(made).__name__}"
    )
    assert told in str(caught.value)
    code = "try: urllib.request.urlopen('http://evil.test/')\nexcept OSError: pass"
    assert made(code).logs.endswith(f"{told}\n")
    assert made("print(1)").logs == "1\n"


@behaviour(
    "Network",
    "With `allowed_hosts=`, code reaches the listed hosts; audit= records each connection, and "
    "each refused one with the reason.",
)
def test_listed_hosts_are_reached(contract):
    if refuses_the_list(contract):
        return
    lines = []
    with serving() as server:
        host = f"localhost:{server.port}"
        allowed = AllowedHost(host, private=True)
        made = contract.make(WIDE, allowed_hosts=[allowed], audit=lines.append)
        with stepping(AgentStep("clerk", 3, "")):
            assert made(GET.format(host)).output == "got /a"
        with pytest.raises(Exception, match="urllib"):
            made(GET.format("evil.example"))

    def of(phase):
        return [x for x in lines if (x["event"], x["phase"]) == ("connection", phase)]

    assert eventually(lambda: of("end"), PATIENCE_SECONDS)
    [begin], [end], [refused] = of("begin"), of("end"), of("refused")
    assert (begin["host"], begin["port"]) == ("localhost", server.port)
    assert (begin["agent"], begin["step"]) == ("clerk", 3)
    assert end["bytes_sent"] > 0
    assert end["bytes_received"] > 0
    assert (refused["host"], refused["port"]) == ("evil.example", 80)
    assert "is not in allowed_hosts" in refused["error"]


@behaviour(
    "Network",
    "With `secrets=`, code uses a token that it does not have; audit= records each use, without "
    "its value.",
)
def test_secrets_stay_outside(contract, tmp_path, monkeypatch):
    if refuses_the_list(contract, secrets={"TOKEN": Secret(TOKEN, ["example.org"])}):
        return
    lines = []
    context, path = authority(tmp_path, "localhost")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", path)
    with serving(context, SecretHandler) as server:
        server.seen = []
        host = f"localhost:{server.port}"
        made = contract.make(
            WIDE,
            allowed_hosts=[AllowedHost(host, private=True)],
            secrets={"TOKEN": Secret(TOKEN, [host])},
            audit=lines.append,
        )
        answer = made(USE.format(host)).output
        assert server.seen[0][2]["authorization"] == f"Bearer {TOKEN}"
    placeholder = made("os.environ['TOKEN']").output
    assert json.loads(answer)["fields"]["authorization"] == f"Bearer {placeholder}"
    assert TOKEN not in answer
    [use] = [line for line in lines if line["event"] == "secret"]
    assert (use["phase"], use["name"], use["host"]) == ("begin", "TOKEN", "localhost")
    assert TOKEN not in repr(lines)

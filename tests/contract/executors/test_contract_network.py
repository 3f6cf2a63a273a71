"""Listed hosts, by a real server of this machine."""

from __future__ import annotations

import pytest
from background import PATIENCE_SECONDS, eventually
from contract_declarations import behaviour
from contract_kinds import WIDE
from web_servers import serving

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.network.host_policy import AllowedHost

GET = (
    "import os, urllib.request\n"
    "os.environ['NO_PROXY'] = os.environ['no_proxy'] = ''\n"
    "urllib.request.urlopen('http://{}/a', timeout=60).read().decode()"
)


def refuses_the_list(contract) -> bool:
    """Tell whether the executor has no list of hosts; then it says so."""
    # Nodes of Ray and services have no connection to the proxy of this process.
    if not contract.differs and contract.kind.column in ("", "kubernetes"):
        return False
    with pytest.raises(ConfigurationError, match="allowed_hosts"):
        contract.make(WIDE, allowed_hosts=["example.org"])
    return True


@behaviour("Network", "With `allowed_hosts=`, code reaches the hosts of the list.")
def test_listed_hosts_are_reached(contract):
    if refuses_the_list(contract):
        return
    with serving() as server:
        host = f"localhost:{server.port}"
        made = contract.make(WIDE, allowed_hosts=[AllowedHost(host, private=True)])
        assert made(GET.format(host)).output == "got /a"


@behaviour("Network", "A host that is not in the list is named in the error of the step.")
def test_unlisted_hosts_are_named(contract):
    if refuses_the_list(contract):
        return
    made = contract.make(WIDE, allowed_hosts=["example.org"])
    with serving() as server:
        with pytest.raises(Exception, match="urllib") as caught:
            made(GET.format(f"localhost:{server.port}"))
        assert server.accepted == 0
    told = "host 'localhost' is not in allowed_hosts=['example.org'] of this "
    assert f"\nRefused by the network proxy: {told}{type(made).__name__}" in str(caught.value)


@behaviour("Network", "audit= records each connection, and each refused one with the reason.")
def test_connections_are_recorded(contract):
    if refuses_the_list(contract):
        return
    lines = []
    with serving() as server:
        allowed = AllowedHost(f"localhost:{server.port}", private=True)
        made = contract.make(WIDE, allowed_hosts=[allowed], audit=lines.append)
        made(GET.format(f"localhost:{server.port}"))
        with pytest.raises(Exception, match="urllib"):
            made(GET.format("evil.example"))

    def of(phase):
        return [x for x in lines if (x["event"], x["phase"]) == ("connection", phase)]

    assert eventually(lambda: of("end"), PATIENCE_SECONDS)
    [begin], [end], [refused] = of("begin"), of("end"), of("refused")
    assert (begin["host"], begin["port"]) == ("localhost", server.port)
    assert end["bytes_sent"] > 0
    assert end["bytes_received"] > 0
    assert (refused["host"], refused["port"]) == ("evil.example", 80)
    assert "is not in allowed_hosts" in refused["error"]

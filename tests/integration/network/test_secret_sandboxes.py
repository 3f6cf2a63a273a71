"""Secrets in a child process and in a container: what code does with them, and what it has."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import stat
import sys
from pathlib import Path

import pytest
from secret_servers import OTHER, TOKEN, SecretHandler
from web_servers import authority, serving

from smolagents_fork import AllowedHost, DockerExecutor, ProcessExecutor, Secret
from smolagents_fork.errors import ConfigurationError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="listed hosts are Linux's")

IMPORTS = "os json requests httpx urllib.request base64".split()
PRELUDE = (
    "import os, json, urllib.request\n"
    "def ask(path, data=None):\n"
    "    fields = {'Authorization': 'Bearer ' + os.environ['TOKEN']}\n"
    "    request = urllib.request.Request(address + path, data, fields)\n"
    "    return urllib.request.urlopen(request, timeout=60)\n"
)
TRUST = (
    "SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT GIT_SSL_CAINFO"
).split()
# The last has its connections carried over a stream, as from an engine elsewhere.
KINDS = [
    "process",
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("docker elsewhere", marks=pytest.mark.docker),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose authority this process trusts."""
    context, path = authority(tmp_path_factory.mktemp("secrets"), "localhost")
    with pytest.MonkeyPatch.context() as patch, serving(context, SecretHandler) as made:
        patch.setenv("REQUESTS_CA_BUNDLE", path)
        made.seen = []
        yield made


@pytest.fixture(scope="module")
def make(server, request):
    """Make executors of a kind with two secrets and :data:`PRELUDE`, which end with the module."""
    host = f"localhost:{server.port}"
    with contextlib.ExitStack() as stack:

        def made(kind: str, **options):
            if kind != "process":
                request.getfixturevalue("engine")
            if kind == "docker elsewhere":
                options["transport"] = "exec"
            options = {
                "allowed_hosts": [AllowedHost(host, private=True), "other.test"],
                "secrets": {"TOKEN": Secret(TOKEN, [host]), "OTHER": Secret(OTHER, ["other.test"])},
                **options,
            }
            is_process = kind == "process"
            cls, imports = (ProcessExecutor, IMPORTS) if is_process else (DockerExecutor, [])
            executor = stack.enter_context(cls(imports, **options))
            executor.send_variables({"address": f"https://{host}"})
            executor(PRELUDE)
            return executor

        yield made


@pytest.fixture(scope="module", params=KINDS)
def executor(make, request):
    return make(request.param)


def test_other_hosts_are_trusted_as_before(executor):
    """The file of certificates has the sandbox's usual ones, and the proxy's behind them."""
    code = "open(os.environ['SSL_CERT_FILE']).read().count('BEGIN CERTIFICATE')"
    assert executor(code).output > 50
    code = f"len({{os.environ[name] for name in {TRUST}}})"
    assert executor(code).output == 1


def test_new_sandbox_has_the_same_placeholder(executor):
    before = executor("os.environ['TOKEN']").output
    executor.restart()
    executor(PRELUDE)
    assert executor("os.environ['TOKEN']").output == before
    assert executor("json.load(ask('/user'))").output["issues"] == 3


@pytest.mark.parametrize("client", ["requests", "httpx"])
def test_clients_in_a_child_use_the_certificates(make, client):
    made = make("process")
    code = (
        f"import {client}\n"
        "fields = {'Authorization': 'Bearer ' + os.environ['TOKEN']}\n"
        f"{client}.get(address + '/user', headers=fields, timeout=60).json()['login']"
    )
    assert made(code).output == "octocat"


@pytest.mark.docker
def test_programs_in_a_container_use_the_certificates(make, server):
    made = make("docker")
    made("import subprocess, sys, shutil")
    index = f"https://me:' + os.environ['TOKEN'] + '@localhost:{server.port}/simple"
    pip = (
        "subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-deps', '-d', '/tmp/x', "
        f"'--retries', '0', '--disable-pip-version-check', '--index-url', '{index}', 'no-such'], "
        "capture_output=True).stderr.decode()"
    )
    said = made(pip).output
    assert "CERTIFICATE_VERIFY_FAILED" not in said
    seen = [one for one in server.seen if one[1] == "/simple/no-such/"]
    assert seen, said
    sent = base64.b64decode(seen[-1][2]["authorization"].removeprefix("Basic ")).decode()
    assert sent == f"me:{TOKEN}"
    if made("shutil.which('curl')").output:
        curl = (
            "subprocess.run(['curl', '-sSf', '-H', 'Authorization: Bearer ' + os.environ['TOKEN'], "
            "address + '/user'], capture_output=True, check=True).stdout"
        )
        assert json.loads(made(curl).output)["login"] == "octocat"


# -- the real value is nowhere in the sandbox --


def memory_of(pid: int):
    """Yield all that a process has in its memory."""
    with (
        open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps,
        open(f"/proc/{pid}/mem", "rb", 0) as memory,
    ):
        for line in maps:
            start, _, end = line.split()[0].partition("-")
            if "r" in line.split()[1] and "[v" not in line:
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    memory.seek(int(start, 16))
                    yield memory.read(int(end, 16) - int(start, 16))


def process_places(pid: int):
    """Yield name and content of what a process has."""
    for name in ("environ", "cmdline"):
        yield name, Path(f"/proc/{pid}/{name}").read_bytes()
    for data in memory_of(pid):
        yield "memory", data


def files_below(folder: str):
    for path, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if os.path.join(path, one) not in skipped(folder)]
        for name in names:
            with contextlib.suppress(OSError):
                full = os.path.join(path, name)
                if stat.S_ISREG(os.lstat(full).st_mode):
                    yield full, Path(full).read_bytes()


def skipped(folder: str) -> set[str]:
    return {os.path.join(folder, name) for name in ("proc", "sys", "dev")}


def places_with(value: str, places) -> list[str]:
    forms = [value.encode(), value.encode("utf-16-le"), value[::-1].encode()]
    return [name for name, data in places if any(form in data for form in forms)]


def use_secrets(made) -> None:
    for path in ("/user", "/echo", "/gzip", "/chunks", "/fields"):
        made(f"answer = ask({path!r}).read()")
    with contextlib.suppress(Exception):
        made("ask('/other-coding')")
    made("kept = os.environ['TOKEN']")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="reads other processes' memory")


@as_root
def test_child_has_the_value_nowhere(make, caplog):
    made = make("process")
    use_secrets(made)
    placeholder = made("kept").output
    # The search finds what is there.
    assert "memory" in places_with(placeholder, process_places(made.pid))
    assert places_with(TOKEN, process_places(made.pid)) == []
    assert places_with(TOKEN, files_below(made.folder)) == []
    parent = Path(f"/proc/{made.pid}/status").read_text().partition("PPid:")[2].split()[0]
    assert places_with(TOKEN, process_places(int(parent))) == []
    assert TOKEN not in f"{made!r} {made.options!r} {caplog.text}"


@as_root
@pytest.mark.docker
def test_container_has_the_value_nowhere(make, caplog):
    made = make("docker")
    use_secrets(made)
    placeholder = made("kept").output
    container = made.container
    container.reload()
    processes = [int(line[1]) for line in container.top()["Processes"]]
    assert processes
    everything = [
        found for pid in processes for found in places_with(placeholder, process_places(pid))
    ]
    assert "memory" in everything
    for pid in processes:
        assert places_with(TOKEN, process_places(pid)) == []
    root = f"/proc/{container.attrs['State']['Pid']}/root"
    assert places_with(TOKEN, files_below(root)) == []
    image = made.client.images.get(made.image_name)
    shown = [container.attrs, image.attrs, image.history(), container.logs(), made, made.options]
    assert TOKEN not in repr(shown)
    assert TOKEN not in caplog.text


# -- options --


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_hosts": None}, r"secrets= without allowed_hosts=: pass allowed_hosts=\['localh"),
        ({"allowed_hosts": ["b.test"]}, r"secrets\['TOKEN'\]: host 'localhost:\d+' is not in"),
        ({"secrets": {"TOKEN": TOKEN}}, r"secrets\['TOKEN'\]: a str: pass Secret"),
        ({"secrets": {"A B": Secret(TOKEN, ["other.test"])}}, "'A B' is not a variable name"),
        ({"secrets": [TOKEN]}, "a list: pass a mapping"),
        *(
            (
                {"secrets": {name: Secret(TOKEN, ["localhost"])}, "allowed_hosts": ["localhost"]},
                rf"^secrets\['{name}'\]: a sandbox with allowed_hosts= sets this variable itself; "
                "leave it out, or pass another name$",
            )
            for name in ("https_proxy", "No_Proxy", "SSL_CERT_FILE", "PIP_CERT")
        ),
    ],
)
def test_secrets_that_cannot_work_are_refused(make, options, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        make("process", **options)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("process", name) for name in ("PATH", "HOME", "TMPDIR", "OMP_NUM_THREADS")),
        *(
            pytest.param("docker", name, marks=pytest.mark.docker)
            for name in ("PATH", "LOGNAME", "MPLBACKEND")
        ),
    ],
)
def test_secret_under_the_name_of_a_variable_of_the_sandbox_is_refused(make, kind, name):
    with pytest.raises(ConfigurationError) as caught:
        make(kind, secrets={name: Secret(TOKEN, ["other.test"])})
    assert str(caught.value) == (
        f"secrets[{name!r}]: the sandbox sets this variable itself; pass another name"
    )


@pytest.mark.docker
def test_environment_with_the_value_is_refused(make):
    for environment in ({"A": f"x{TOKEN}"}, {"TOKEN": "y"}):
        for options in (
            {"environment": environment},
            {"container_run_kwargs": {"environment": environment}},
        ):
            words = r"'\] has the value of secrets\['TOKEN'\] or its name"
            with pytest.raises(ConfigurationError, match=words) as caught:
                make("docker", **options)
            assert TOKEN not in str(caught.value)


@pytest.mark.docker
def test_environment_with_a_key_is_noted(make, caplog):
    make("docker", environment={"MY_API_KEY": "x", "LEVEL": "3"})
    [line] = [record.message for record in caplog.records if "MY_API_KEY" in record.message]
    assert "secrets=" in line
    assert "LEVEL" not in line

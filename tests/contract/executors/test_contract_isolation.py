"""Isolation of the host from code that is allowed to import what could reach it."""

from __future__ import annotations

import json
import select
import socket

import pytest
from contract_declarations import behaviour

ATTEMPT = """
import os, pathlib, socket, subprocess

def attempt(action):
    try:
        return action()
    except Exception as error:
        return type(error).__name__
"""


PROXY = "http://user:hunter2@127.0.0.1:9"


def attempted(contract, action: str):
    """Return what an expression of the code gives, or the name of its exception's class."""
    executor = contract.wide
    executor(ATTEMPT)
    return executor(f"attempt(lambda: {action})").output


@behaviour("Network", "Code opens no connection to a server of the host.")
def test_connections_of_code(contract):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        found = attempted(contract, f"socket.create_connection({address!r}, 5).close() is None")
        reached = bool(select.select([server], [], [], 0)[0])
    assert (found is True) == reached == contract.differs


@behaviour("Isolation", "Code reads no file of the host.")
def test_files_that_code_reads(contract, tmp_path):
    path = tmp_path / "secret"
    path.write_text("of the host", "utf-8")
    found = attempted(contract, f"pathlib.Path({str(path)!r}).read_text()")
    assert (found == "of the host") == contract.differs


@behaviour("Isolation", "Code starts no program on the host.")
def test_programs_that_code_starts(contract, tmp_path):
    path = tmp_path / "made"
    attempted(contract, f"subprocess.run(['touch', {str(path)!r}]).returncode")
    assert path.exists() == contract.differs


#: Every variable of a program, beside those of the image and of Docker's and Kubernetes' engines.
ENVIRONMENTS = {
    "process": {
        "HOME", "LANG", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
        "MKL_NUM_THREADS", "MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
        "TMPDIR",
    },
    "wasm": {
        "HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "MPLBACKEND", "PATH", "PWD", "PYTHONINSPECT",
        "USER",
    },
    "docker": {
        "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GIT_PAGER", "HOME", "HOSTNAME", "IPYTHONDIR",
        "JUPYTER_RUNTIME_DIR", "KG_IP", "KG_PORT", "LC_CTYPE", "LOGNAME", "MPLBACKEND",
        "MPLCONFIGDIR", "PAGER", "PATH", "PLOTLY_RENDERER", "PYTHONDONTWRITEBYTECODE", "TERM",
        "TMPDIR", "USER",
    },
    "hosted": {
        "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GIT_PAGER", "HOME", "IPYTHONDIR",
        "JPY_PARENT_PID", "LC_CTYPE", "MPLBACKEND", "PAGER", "PATH", "PIP_CONFIG_FILE",
        "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TARGET",
        "PLOTLY_RENDERER", "PYDEVD_USE_FRAME_EVAL", "PYTHONPATH", "TERM",
    },
}  # fmt: skip


@pytest.fixture
def _settings_of_the_host(monkeypatch, tmp_path):
    """Secrets in the environment of the host, and a proxy with a password in Docker's settings."""
    proxies = {"default": {"httpProxy": PROXY, "httpsProxy": PROXY, "noProxy": "example.org"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}), "utf-8")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hunter2")
    monkeypatch.setenv("https_proxy_of_the_host", PROXY)


@behaviour("Isolation", "The environment of code has the listed variables, and none of the host.")
@pytest.mark.usefixtures("_settings_of_the_host")
def test_environment_of_code(contract):
    executor = contract.make(["os"])
    names = set(executor("import os\nsorted(os.environ)").output)
    if contract.differs:
        assert "SECRET_OF_THE_HOST" in names
        return
    allowed = ENVIRONMENTS.get(contract.kind.column) or ENVIRONMENTS[contract.kind.name]
    if contract.kind.column:  # a pod has its cluster's address, and other ways to its gateway
        names = {name for name in names if not name.startswith("KUBERNETES_")}
        assert names <= allowed
    else:
        assert names == allowed
    assert "hunter2" not in executor("str(dict(os.environ))").output

"""``smolagents-fork doctor``: what it finds on a real machine, and each failure made to happen."""

from __future__ import annotations

import os
import platform
import socket
import sys
from pathlib import Path

import pytest

from smolagents_fork.wasm.pyodide_files import VERSION

#: Settings of pip on the machine that runs the tests, of which a test needs its own.
PIP = (
    "PIP_CERT", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
)  # fmt: skip
#: An index that cannot be reached, so that a check ends at once.
NO_INDEX = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines a process")
#: Numbers of unshare and seccomp; those of Landlock are the same on every machine.
CALLS = {"x86_64": (272, 317), "aarch64": (97, 277)}
#: Has the kernel refuse system calls by their numbers, from now on and in every child.
REFUSE = """
import ctypes, struct
numbers = {numbers}
libc = ctypes.CDLL(None, use_errno=True)
line = lambda code, value, true=0, false=0: struct.pack("HBBI", code, true, false, value)
lines = [line(0x20, 0)]
for number in numbers:
    lines += [line(0x15, number, 0, 1), line(0x06, 0x00050001)]
program = ctypes.create_string_buffer(b"".join([*lines, line(0x06, 0x7FFF0000)]))
count = len(program.raw) // 8
filter = struct.pack("H6xQ", count, ctypes.addressof(program))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0) == 0
"""


def test_local_runs_everywhere(command):
    ended = command("doctor", "local")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("local: runs\n  ok  run  started and ran a line of code in ")


def test_unknown_executor_is_wrong_use(command):
    ended = command("doctor", "dokcer")
    assert ended.code == 2
    assert ended.err.startswith("smolagents-fork: unknown executor 'dokcer': known are blaxel, ")
    assert command("doctor", "dokcer", "--json").data["error"].startswith("unknown executor")


# -- process --


@LINUX
def test_confined_process_runs(doctor):
    checks = doctor("process", 0)
    assert list(checks) == [
        "system",
        "confined child",
        "Landlock",
        "seccomp",
        "user namespaces",
        "run",
    ]
    assert {checks[name]["state"] for name in ("confined child", "Landlock", "seccomp", "run")} == {
        "ok"
    }


@LINUX
def test_kernel_without_landlock(doctor):
    checks = doctor("process", 1, before=REFUSE.format(numbers=[444]))
    assert checks["Landlock"]["state"] == "failed"
    assert checks["Landlock"]["found"] == "the kernel has no Landlock"
    assert "add landlock to lsm=" in checks["Landlock"]["todo"]
    assert checks["confined child"]["state"] == "warning"
    assert "allow_missing=('filesystem',)" in checks["confined child"]["todo"]
    assert "cannot confine the code: filesystem" in checks["run"]["found"]


@LINUX
@pytest.mark.skipif(platform.machine() not in CALLS, reason="numbers of two architectures")
def test_kernel_without_user_namespaces_has_one_barrier_less(doctor):
    unshare, _ = CALLS[platform.machine()]
    checks = doctor("process", 0, before=REFUSE.format(numbers=[unshare]))
    assert checks["user namespaces"]["state"] == "warning"
    assert checks["run"]["state"] == "ok"


@LINUX
@pytest.mark.skipif(platform.machine() not in CALLS, reason="numbers of two architectures")
def test_kernel_without_filters(doctor):
    _, seccomp = CALLS[platform.machine()]
    checks = doctor("process", 1, before=REFUSE.format(numbers=[seccomp]))
    assert checks["seccomp"]["found"] == (
        "[Errno 1] no system call filter: Operation not permitted"
    )


# -- docker --


def test_absent_engine(doctor, tmp_path):
    where = f"unix://{tmp_path}/none.sock"
    checks = doctor("docker", 1, environment={"DOCKER_HOST": where, **NO_INDEX})
    assert checks["engine"]["state"] == "failed"
    assert f"no container engine answers at {where}: start Docker" in checks["engine"]["found"]
    needing = ("version", "cgroups", "image", "registry", "run")
    assert {checks[name]["state"] for name in needing} == {"skipped"}


def test_silent_engine(doctor):
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        checks = doctor("docker", 1, environment={"DOCKER_HOST": where, **NO_INDEX})
    assert "does not answer in 3 s" in checks["engine"]["found"]


@pytest.mark.docker
def test_real_engine_runs(doctor, image):
    checks = doctor("docker", 0)
    assert image in checks["image"]["found"]
    assert "memory, processes and processor time" in checks["cgroups"]["found"]
    assert checks["run"]["state"] == "ok"


@pytest.mark.docker
def test_base_image_that_no_registry_gives(doctor, engine):
    base = "127.0.0.1:9/nobody/nothing:1"
    environment = {"SMOLAGENTS_FORK_BASE_IMAGE": base, **NO_INDEX}
    checks = doctor("docker", 1, environment=environment, without=PIP)
    assert checks["image"]["state"] == "warning"
    assert "smolagents-fork setup docker builds it" in checks["image"]["todo"]
    assert f"the base image {base} is not on the engine" in checks["registry"]["found"]
    assert checks["index"]["state"] == "warning"
    assert checks["run"]["found"] == "needs: image, which is not built yet"


# -- wasm --


def test_machine_without_deno(doctor, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "deno", None)
    checks = doctor("wasm", 1, environment={"PATH": str(tmp_path), **NO_INDEX})
    assert checks["Deno"]["found"] == (
        "WasmExecutor needs Deno, which is not installed: pip install 'smolagents[wasm]'"
    )
    assert checks["run"]["state"] == "skipped"


@pytest.mark.wasm
def test_wasm_runs(doctor, wasm_machine):
    checks = doctor("wasm", 0, environment=NO_INDEX)
    assert {checks[name]["state"] for name in ("Deno", "Pyodide", "run")} == {"ok"}


@pytest.mark.wasm
def test_pyodide_that_is_not_fetched_yet(doctor, wasm_machine, tmp_path):
    checks = doctor("wasm", 0, environment={"XDG_CACHE_HOME": str(tmp_path), **NO_INDEX})
    assert "smolagents-fork setup wasm fetches it" in checks["Pyodide"]["todo"]
    assert checks["run"]["state"] == "skipped"


@pytest.mark.wasm
def test_damaged_pyodide(doctor, wasm_machine, tmp_path):
    folder = tmp_path / "smolagents-fork" / "wasm" / f"pyodide-{VERSION}"
    folder.mkdir(parents=True)
    Path(folder, "pyodide.mjs").write_text("damaged")
    checks = doctor("wasm", 1, environment={"XDG_CACHE_HOME": str(tmp_path), **NO_INDEX})
    found = checks["Pyodide"]["found"]
    assert "pyodide.mjs is not the file of pyodide" in found
    assert "remove the folder to have it fetched again" in found


# -- services and clusters --


def test_hosted_executor_without_credentials(command, doctor):
    checks = doctor("e2b", 1, without=("E2B_API_KEY",))
    assert checks["credentials"]["todo"] == "set E2B_API_KEY"
    ended = command("doctor", "e2b", "--json", environment={"E2B_API_KEY": "x"})
    assert ended.checks("e2b")["credentials"]["found"] == "E2B_API_KEY is set"


@pytest.mark.usefixtures("ray_installed")
def test_cluster_says_what_is_missing(command, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    environment = {
        "RAY_ADDRESS": f"127.0.0.1:{closed}", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 48,
        "KUBECONFIG": str(tmp_path / "none"),
    }  # fmt: skip
    ended = command("doctor", "ray", "kubernetes", "--json", environment=environment)
    assert ended.code == 1
    assert "Connection refused" in ended.checks("ray")["RAY_ADDRESS"]["found"]
    assert ended.checks("kubernetes")["kubeconfig"]["found"].endswith("none cannot be read")


def test_kubeconfig_that_is_there(command, tmp_path):
    config = tmp_path / "config"
    config.write_text("apiVersion: v1\n")
    # The client of Kubernetes expands "~" in it, too.
    for named in (str(config), f"{tmp_path}/none{os.pathsep}~/config"):
        environment = {"KUBECONFIG": named, "HOME": str(tmp_path)}
        ended = command("doctor", "kubernetes", "--json", environment=environment)
        assert ended.checks("kubernetes")["kubeconfig"]["found"] == str(config)

"""Confinement by the kernel, seen by a program with the most powerful modules authorised."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from process_harness import SHARP, executor
from smolagents.monitoring import LogLevel

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ProgramFailedError
from smolagents_fork.process.confinement_report import MEASURES
from smolagents_fork.process.sandbox_paths import layout_for

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")


@pytest.fixture(scope="module")
def sharp():
    with executor(SHARP) as ex:
        yield ex


def test_it_says_what_is_in_force(sharp):
    report = sharp.confinement
    assert report["in_force"].keys() | report["missing"].keys() == set(MEASURES)
    assert not report["in_force"].keys() & report["missing"].keys()
    assert {"session", "files", "cpu", "memory", "no_new_privileges"} <= report["in_force"].keys()


@LINUX
def test_no_interface_is_there(sharp):
    assert "interfaces" in sharp.confinement["in_force"]["network"]
    try:  # from outside: the child may open neither a socket nor /proc
        with open(f"/proc/{sharp.pid}/net/dev", encoding="ascii") as file:
            names = [line.split(":")[0].strip() for line in file.readlines()[2:]]
        assert os.readlink(f"/proc/{sharp.pid}/ns/net") != os.readlink("/proc/self/ns/net")
    except PermissionError as error:
        pytest.skip(f"who is not root may not look into the child: {error}")
    assert names == ["lo"]


def test_its_own_folder_is_writable_and_its_home(sharp):
    code = (
        "import os, pathlib\n"
        "pathlib.Path('mine').write_text('x')\n"
        "pathlib.Path('sub').mkdir(exist_ok=True)\n"
        "os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'], pathlib.Path('mine').read_text()"
    )
    temporary = str(Path(sharp.folder).with_name("temporary"))
    assert sharp(code).output == (sharp.folder, sharp.folder, temporary, "x")


def test_it_is_a_session_of_its_own(sharp):
    pid, session, group = sharp("import os\nos.getpid(), os.getsid(0), os.getpgid(0)").output
    assert pid == session == group == sharp.pid
    assert session != os.getsid(0)


def test_descriptors_are_limited():
    with (
        executor(SHARP, open_files=64) as ex,
        pytest.raises(ProgramFailedError, match="Too many open files"),
    ):
        ex("import os\nfor i in range(300): os.dup(1)")


@LINUX
def test_network_can_be_requested():
    with executor(SHARP, network="host") as ex:
        missing = ex.confinement["missing"]
        assert missing == {"network": "network='host': the host's network was requested"}
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            ex(f"import socket\nsocket.create_connection(('localhost', {port}), 30).close()")
            server.settimeout(30)
            server.accept()[0].close()
        # Services of this machine listen on UNIX sockets.
        with pytest.raises(ProgramFailedError, match="PermissionError"):
            ex("socket.socket(socket.AF_UNIX)")
        with pytest.raises(ProgramFailedError, match="PermissionError"):
            ex("import os\nos.fork()")


@pytest.mark.parametrize("given_up", [{}, {"memory": None, "network": "host"}])
def test_report_is_logged_at_info_if_a_measure_is_missing(given_up):
    lines: list[tuple[str, LogLevel]] = []
    logger = SimpleNamespace(
        log=lambda text, level: lines.append((str(text), level)), log_error=lambda _text: None
    )
    with ProcessExecutor([], logger, **given_up) as ex:
        missing = ex.confinement["missing"].keys() - given_up.keys()
    told = [level for text, level in lines if text.startswith("ProcessExecutor: in force: ")]
    assert told == [LogLevel.INFO if missing else LogLevel.DEBUG]


OWN_FILES = """
import os
shown = {}
for name in ("cgroup", "maps", "stat", "statm", "status"):
    with open(f"/proc/self/{name}") as file:
        shown[name] = file.read()
pid = os.getpid()
own = shown["stat"].split()[0], shown["status"].split("Pid:")[1].split()[0]
own == (str(pid), str(pid)) and len(shown["maps"]) > 1000 and len(shown["statm"].split()) == 7
"""
NOT_OWN = """
import os
refused = []
for path in paths:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).close()
    except PermissionError:
        refused.append(path)
refused
"""


@LINUX
def test_files_about_the_process_itself_can_be_read_and_no_others():
    with executor(SHARP) as ex, executor() as other:
        assert ex(OWN_FILES).output is True
        names = ("environ", "mountinfo", "net/tcp", "cmdline", "limits", "task", "fd", "root")
        paths = [f"/proc/self/{name}" for name in names]
        paths += ["/proc/self", "/proc/1/status", "/proc", "/sys/fs/cgroup"]
        for pid in (other.pid, os.getpid()):
            paths += [f"/proc/{pid}/{name}" for name in ("cgroup", "stat", "maps", "status")]
        ex.send_variables({"paths": paths})
        assert ex(NOT_OWN).output == paths


@LINUX
def test_limits_of_control_groups_can_be_read():
    files = layout_for([]).readable
    limits = [file for file in files if file.startswith("/sys/fs/cgroup/")]
    if not limits:
        pytest.skip("this machine has no control groups with limits")
    with executor(SHARP) as ex:
        ex.send_variables({"paths": limits})
        assert ex(NOT_OWN).output == []


@LINUX
def test_rules_about_the_process_itself_outlive_the_kernels_caches():
    caches = Path("/proc/sys/vm/drop_caches")
    with executor(SHARP) as ex:
        assert ex(OWN_FILES).output is True
        try:
            caches.write_text("2")  # inodes and directory entries
        except OSError as error:
            pytest.skip(f"the caches cannot be dropped here: {error}")
        assert ex(OWN_FILES).output is True

"""What the kernel takes away, seen from a program with the sharpest modules authorised."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from process_harness import SHARP, executor
from smolagents.monitoring import LogLevel

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError, ProgramFailedError
from smolagents_fork.process.measures import MEASURES

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")


@pytest.fixture(scope="module")
def sharp():
    with executor(SHARP) as ex:
        yield ex


def in_force(ex, measure: str) -> None:
    if measure in ex.confinement["missing"]:
        pytest.skip(f"{measure} is not to be had here: {ex.confinement['missing'][measure]}")


def test_it_says_what_is_in_force(sharp):
    report = sharp.confinement
    assert report["in_force"].keys() | report["missing"].keys() == set(MEASURES)
    assert not report["in_force"].keys() & report["missing"].keys()
    assert {"session", "files", "cpu", "memory", "no_new_privileges"} <= report["in_force"].keys()


@LINUX
@pytest.mark.parametrize(
    ("measure", "code"),
    [
        ("filesystem", "import os\nos.open('/etc/passwd', os.O_RDONLY)"),
        ("filesystem", "import pathlib\npathlib.Path('/tmp/left-behind').write_text('x')"),
        ("filesystem", "import pathlib\npathlib.Path('../left-behind').write_text('x')"),
        ("filesystem", "import os\nos.listdir('/')"),
        ("filesystem", f"import os\nos.unlink({json.__file__!r})"),
        ("filesystem", "import os\nos.open('/proc/self/environ', os.O_RDONLY)"),
        ("filesystem", "import os\nos.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)"),
        ("network", "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)"),
        ("network", "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0smolagents')"),
        ("syscalls", "import os\nos.fork()"),
        ("syscalls", "import subprocess\nsubprocess.run(['true'])"),
        ("syscalls", "import os\nos.execv('/bin/true', ['true'])"),
        ("syscalls", "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
         "assert libc.ptrace(16, 1, 0, 0) == 0, 'PermissionError'"),
        ("signals", "import os\nos.kill(os.getppid(), 0)"),
        ("signals", "import os\nos.kill(-1, 0)"),
        ("capabilities", "import os\nos.chroot('.')"),
    ],
)  # fmt: skip
def test_what_it_may_not(sharp, measure: str, code: str):
    in_force(sharp, measure)
    with pytest.raises(ProgramFailedError, match="PermissionError"):
        sharp(code)


@LINUX
def test_no_interface_is_there(sharp):
    in_force(sharp, "network")
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
    assert sharp(code).output == (sharp.folder, sharp.folder, sharp.folder, "x")


def test_no_environment_is_inherited(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    with executor(SHARP) as ex:
        environment = ex("import os\ndict(os.environ)").output
    assert "hunter2" not in str(environment)
    assert set(environment) == {
        "PATH", "LANG", "HOME", "TMPDIR", "MPLBACKEND",
        "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
        "MALLOC_ARENA_MAX",
    }  # fmt: skip


def test_no_descriptor_is_inherited(tmp_path):
    code = (
        "import os\nopen_ones = []\nfor number in range(256):\n    try:\n"
        "        open_ones.append((number, os.fstat(number).st_ino))\n    except OSError:\n"
        "        pass\nopen_ones"
    )
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        with executor(SHARP) as ex:
            found = ex(code).output
            # Standard streams, the connection, and the output log.
            assert len(found) == 5
            assert os.fstat(secret.fileno()).st_ino not in [inode for _, inode in found]


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


def test_threads_and_socket_pairs_still_work(sharp):
    code = (
        "import socket, threading\na, b = socket.socketpair()\n"
        "t = threading.Thread(target=lambda: a.send(b'x'))\nt.start()\nt.join()\nb.recv(1)"
    )
    assert sharp(code).output == b"x"


def test_require_makes_a_missing_measure_an_error():
    with pytest.raises(ExecutorStartError) as caught, executor(memory=None, require=["memory"]):
        pass
    assert str(caught.value) == (
        "require=['memory'], and this is not in force: memory: memory=None asked for no limit"
    )


@LINUX
def test_require_all_starts_where_all_is_to_be_had(sharp):
    if sharp.confinement["missing"]:
        with pytest.raises(ExecutorStartError, match="require="), executor(require=True):
            pass
    else:
        with executor(require=True) as ex:
            assert ex("1").output == 1


@LINUX
def test_network_can_be_asked_for():
    with executor(SHARP, network=True) as ex:
        assert ex.confinement["missing"]["network"] == "asked for by network=True"


@pytest.mark.parametrize("given_up", [{}, {"memory": None, "network": True}])
def test_the_account_is_logged_louder_where_something_is_missing_unasked(given_up):
    lines: list[tuple[str, LogLevel]] = []
    logger = SimpleNamespace(log=lambda text, level: lines.append((str(text), level)))
    with ProcessExecutor([], logger, **given_up) as ex:
        missing = ex.confinement["missing"].keys() - given_up.keys()
    told = [level for text, level in lines if text.startswith("ProcessExecutor: in force: ")]
    assert told == [LogLevel.INFO if missing else LogLevel.DEBUG]


def test_readable_paths_open_a_folder_for_reading(tmp_path):
    (tmp_path / "data.csv").write_text("a,b")
    read = f"import pathlib\npathlib.Path({str(tmp_path / 'data.csv')!r}).read_text()"
    write = f"import pathlib\npathlib.Path({str(tmp_path / 'data.csv')!r}).write_text('x')"
    with executor(SHARP, readable_paths=[tmp_path]) as ex:
        assert ex(read).output == "a,b"
        in_force(ex, "filesystem")
        with pytest.raises(ProgramFailedError, match="PermissionError"):
            ex(write)


UNPRIVILEGED = """
from smolagents_fork import ProcessExecutor
with ProcessExecutor(["os", "socket"], None) as ex:
    print(sorted(ex.confinement["in_force"]))
    print(ex("import os\\nos.getuid(), os.listdir('.')").output)
    for code in (
        "os.open('/etc/passwd', os.O_RDONLY)",
        "os.open('../outside', os.O_CREAT | os.O_WRONLY)",
        "os.kill(os.getppid(), 0)",
        "os.fork()",
        "import socket\\nsocket.socket()",
    ):
        try:
            print("done:", ex(code).output)
        except Exception as error:
            print("PermissionError" in str(error), str(error)[-60:])
"""


def opened_for_anybody(folder: Path) -> str:
    """A script for a mount namespace of its own: what this Python needs and root keeps to itself,
    as below a closed /root, is put in its place again below an open folder."""
    needed = {Path(one).resolve() for one in (sys.base_prefix, sys.prefix, *sys.path) if one}
    closed: dict[Path, list[Path]] = {}
    for path in sorted(p for p in needed if p.is_dir()):
        above = [p for p in path.parents if not p.stat().st_mode & 0o001]
        if above and not any(path.is_relative_to(p) for p in closed.get(above[-1], ())):
            closed.setdefault(above[-1], []).append(path)
    paths = [path for below in closed.values() for path in below]
    holds = {path: folder / str(n) for n, path in enumerate(paths)}
    lines = ["set -e"]
    for path, hold in holds.items():
        hold.mkdir()
        lines.append(shlex.join(["mount", "--bind", str(path), str(hold)]))
    for parent in closed:
        lines.append(shlex.join(["mount", "-t", "tmpfs", "-o", "mode=755", "none", str(parent)]))
    for path, hold in holds.items():
        lines.append(shlex.join(["mkdir", "-p", str(path)]))
        lines.append(shlex.join(["mount", "--bind", str(hold), str(path)]))
    return "\n".join([*lines, 'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'])


@LINUX
def test_none_of_it_needs_root(sharp, tmp_path):
    if os.getuid() != 0:
        pytest.skip("the other tests show it: they do not run as root")
    lacking = [tool for tool in ("unshare", "setpriv") if shutil.which(tool) is None]
    if lacking or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip(f"needs mount namespaces, with util-linux{': no ' if lacking else ''}{lacking}")
    run = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", opened_for_anybody(tmp_path),
         "sh", sys.executable, "-c", UNPRIVILEGED],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        cwd="/", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    measures, identity, *refusals = run.stdout.splitlines()
    assert measures == str(sorted(sharp.confinement["in_force"]))
    assert identity == "(65534, [])"
    assert "Permission denied: '/etc/passwd'" in refusals[0]
    assert len(refusals) == 5
    assert all(line.startswith("True ") for line in refusals), refusals

"""A program that has left the interpreter: raw code in the child, with the sharpest modules.

What the interpreter's guards would refuse is authorised here, so that only the kernel's measures
and the host's own checks stand between the program and the host.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from background import eventually
from process_harness import SHARP, Leavings, executor, gone

from smolagents_fork.errors import ProgramFailedError
from smolagents_fork.process import seccomp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

#: Stands for the number of the process that runs the tests, which is not the same in every one.
HOST = "HOST"
LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
NUMBERS = seccomp._MACHINES.get(os.uname().machine, (0, {}))[1] if seccomp.supported() else {}


def raw(name: str, *arguments: object) -> str:
    """Code that makes a system call by its number and tells the error's, 0 without one."""
    arguments = tuple(os.getpid() if one == HOST else one for one in arguments)
    given = ", ".join(map(str, (NUMBERS.get(name, seccomp._COMMON.get(name)), *arguments)))
    return f"{LIBC}result = libc.syscall({given})\n0 if result >= 0 else ctypes.get_errno()"


@pytest.fixture(scope="module")
def sharp():
    with executor(SHARP) as ex:
        yield ex


def needs(ex, measure: str) -> None:
    if measure in ex.confinement["missing"]:
        pytest.skip(f"{measure} is not to be had here: {ex.confinement['missing'][measure]}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fork", ()),
        ("clone", (17, 0, 0, 0, 0)),
        ("kill", (HOST, 0)),
        ("tgkill", (HOST, HOST, 0)),
        ("pidfd_send_signal", (0, 0, 0, 0)),
        ("ptrace", (16, HOST, 0, 0)),
        ("process_vm_readv", (HOST, 0, 0, 0, 0, 0)),
        ("socket", (1, 1, 0)),
        ("socket", (2, 2, 0)),
        ("socket", (16, 3, 0)),
        ("unshare", (0x10000000,)),
        ("mount", (0, 0, 0, 0, 0)),
        ("bpf", (0, 0, 0)),
        ("io_uring_setup", (1, 0)),
        ("shmget", (0, 4096, 0o1600)),
        ("shmat", (0, 0, 0)),
        ("msgget", (0, 0o1600)),
        ("semget", (0, 1, 0o1600)),
        ("mq_open", (0, 0, 0, 0)),
        ("memfd_create", ("b'x'", 0)),
        ("setpriority", (0, HOST, 19)),
        ("sched_setaffinity", (HOST, 8, "b'\\1' + bytes(7)")),
        ("sched_setscheduler", (HOST, 5, "bytes(8)")),
        ("ioprio_set", (1, HOST, 3 << 13)),
        ("prctl", (1, 0, 0, 0, 0)),
        ("keyctl", (0, 0, 0)),
        ("prlimit64", (HOST, 7, 0, 0)),
    ],
)
def test_a_system_call_made_by_number_is_refused(sharp, name: str, arguments: tuple[object, ...]):
    needs(sharp, "syscalls")
    if name not in NUMBERS and name not in seccomp._COMMON:
        pytest.skip(f"this machine has no {name}")
    assert sharp(raw(name, *arguments)).output == 1  # EPERM


@pytest.mark.parametrize(
    "code",
    [
        "os.open('/etc/passwd', os.O_RDONLY)",
        "os.open('/proc/HOST/environ', os.O_RDONLY)",
        "os.open('/proc/HOST/maps', os.O_RDONLY)",
        "os.open('/proc/HOST/fd/0', os.O_RDONLY)",
        f"os.open({__file__!r}, os.O_RDONLY)",
        "os.listdir('/tmp')",
        "os.listdir('..')",
        f"os.listdir({str(Path.home())!r})",
        "os.symlink('/etc/passwd', 'link'); os.open('link', os.O_RDONLY)",
        f"os.link({__file__!r}, 'hard')",
        "os.rename('.', '../elsewhere')",
        "os.mkdir('here'); os.rename('here', '../elsewhere')",
        "os.open('..', os.O_TMPFILE | os.O_RDWR)",
        "os.open('/dev/shm/left-behind', os.O_CREAT | os.O_RDWR)",
        "os.mkfifo('/tmp/left-behind')",
        "os.mknod('device', 0o60600, 0)",
        f"os.truncate({os.__file__!r}, 0)",
    ],
)
def test_the_file_system_outside_its_folder_is_closed(sharp, code: str):
    needs(sharp, "filesystem")
    with pytest.raises(ProgramFailedError, match=r"PermissionError|OSError"):
        sharp("import os\n" + code.replace("HOST", str(os.getpid())))
    assert not Path("/tmp/left-behind").exists()


def test_limits_cannot_be_raised_again(sharp):
    code = (
        "import resource\nopen_ones = []\n"
        "for name in ('RLIMIT_AS', 'RLIMIT_NOFILE', 'RLIMIT_FSIZE'):\n"
        "    kind = getattr(resource, name)\n    hard = resource.getrlimit(kind)[1]\n"
        "    try:\n        resource.setrlimit(kind, (hard + 4096, hard + 4096))\n"
        "        open_ones.append(name)\n    except (OSError, ValueError):\n        pass\nopen_ones"
    )
    needs(sharp, "capabilities")
    assert sharp(code).output == []


def test_cutting_the_shared_output_short_does_not_end_the_host():
    # A map of a file that was cut short is a SIGBUS for whoever reads it.
    code = (
        "import os, time\ncut = 0\nfor number in range(256):\n    try:\n"
        "        os.ftruncate(number, 0)\n        cut += 1\n    except OSError:\n        pass\n"
        "time.sleep(0.3)\ncut"
    )
    with executor(SHARP) as ex:
        assert ex(code).output >= 1


def test_descriptors_sent_over_the_connection_do_not_reach_the_host():
    with executor(SHARP) as ex:
        ex("import os, socket")
        leavings = Leavings()
        # A frame of text with no text, and with it a hundred descriptors.
        frame = "b'\\x02\\0\\0\\0\\2\\0\\0\\0\\0'"
        code = f"s = socket.socket(fileno=os.dup(3))\nsocket.send_fds(s, [{frame}], [0] * 100)\n1"
        assert ex(code).output == 1
        assert len(leavings.new()) < 50, leavings.new()


@pytest.mark.parametrize(
    "code",
    [
        "for _ in range(1500):\n    os.mkdir('d'); os.chdir('d')",
        "os.makedirs('a/b'); os.chmod('a/b', 0); os.chmod('a', 0); os.chmod('.', 0)",
        "os.symlink('/', 'root'); os.symlink('..', 'up')",
        "for n in range(3000):\n    os.close(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY))",
    ],
    ids=["deep", "closed", "links", "many"],
)
def test_whatever_is_in_its_folder_is_removed_at_the_end(code: str):
    with executor(SHARP) as ex:
        folder = ex.folder
        ex(f"import os\n{code}")
    assert not os.path.lexists(folder)
    assert os.path.isdir("/tmp")


def test_a_thread_that_goes_on_is_ended_with_its_process():
    with executor(SHARP) as ex:
        pid = ex.pid
        ex(
            "import threading, socket\n"
            "pair = socket.socketpair()\n"
            "def forever(): pair[0].recv(1)\n"
            "threading.Thread(target=forever, daemon=True).start()"
        )
        assert pid is not None
        assert not gone(pid)
    assert eventually(lambda: gone(pid))

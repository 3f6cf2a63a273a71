"""An owner is gone if the kernel says so, and lives in any doubt."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from smolagents_fork.sandboxes import process_owner
from smolagents_fork.sandboxes.process_owner import (
    check_owner,
    owner_text,
    parse_owner,
    process_is_gone,
    this_machine,
)
from smolagents_fork.system.inventory import ELSEWHERE, GONE, RUNNING
from smolagents_fork.system.proc_table import process_exists

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
ROOT = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs root and namespaces",
)
IS_GONE = (
    "import os, sys\n"
    "from smolagents_fork.sandboxes.process_owner import parse_owner, owner_text, process_is_gone\n"
    "{before}\n"
    "print(process_is_gone({owner!r}))\n"
)


@pytest.fixture
def living():
    process = subprocess.Popen(["sleep", "300"])
    yield process
    process.kill()
    process.wait()


def text_of(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return f"{this_machine()}:{pid}:{file.read().rpartition(')')[2].split()[19]}"


def is_gone_within(owner: str, *within: str, before: str = "") -> bool:
    code = IS_GONE.format(owner=owner, before=before)
    done = subprocess.run(
        [*within, sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split()[-1:] in (["True"], ["False"]), done.stderr
    return done.stdout.split()[-1] == "True"


def test_own_process_lives():
    assert not process_is_gone(owner_text())
    owner = parse_owner(owner_text(), "")
    assert (owner.pid, owner.state) == (os.getpid(), RUNNING)


@LINUX
def test_process_that_ended_and_one_with_its_number_are_gone(living):
    assert not process_is_gone(text_of(living.pid))
    assert process_is_gone(f"{this_machine()}:{living.pid}:1")
    # Where the start was not known, only the kernel's answer to a signal counts.
    assert not process_is_gone(f"{this_machine()}:{living.pid}:0")
    owner = text_of(living.pid)
    living.kill()
    os.waitid(os.P_PID, living.pid, os.WEXITED | os.WNOWAIT)
    assert process_is_gone(owner)  # a zombie has ended
    living.wait()
    assert process_is_gone(owner)
    assert parse_owner(owner, "").state == GONE
    assert parse_owner("elsewhere:1:1", "").state == ELSEWHERE


@LINUX
def test_process_that_has_only_lost_its_first_thread_lives():
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        state = ""
        while state != "Z":
            assert time.monotonic() < end
            with open(f"/proc/{process.pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        assert process_exists(process.pid)
        assert not process_is_gone(text_of(process.pid))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@ROOT
def test_process_of_another_user_lives_where_proc_hides_it(living):
    mount = 'mount -t proc -o hidepid=2 proc /proc && exec "$0" "$@"'
    within = ("unshare", "--mount", "--propagation", "private", "sh", "-c", mount)
    other = (
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"assert not os.path.exists('/proc/{living.pid}')"
    )
    owner = text_of(living.pid)
    assert not is_gone_within(owner, *within, before=other)
    living.kill()
    living.wait()
    assert is_gone_within(owner, *within, before=other.partition("\n")[0])


@ROOT
def test_process_of_another_pid_namespace_lives(living):
    owner = text_of(living.pid)
    for within in (
        ("unshare", "--pid", "--fork"),  # with this namespace's /proc
        ("unshare", "--pid", "--fork", "--mount-proc"),
        ("unshare", "--time", "--boottime", "1000000", "--fork"),
        ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$0" "$@"'),
    ):
        assert not is_gone_within(owner, *within)
        # Its own processes live by its own texts, also where /proc is another namespace's.
        own = IS_GONE.format(owner="", before="assert not process_is_gone(owner_text())")
        done = subprocess.run([*within, sys.executable, "-c", own], timeout=60, check=False)
        assert done.returncode == 0


@ROOT
def test_copy_of_this_process_in_a_namespace_has_another_machine():
    code = (
        "import ctypes, os\n"
        "from smolagents_fork.sandboxes.process_owner import this_machine\n"
        "before = this_machine()\n"
        "assert ctypes.CDLL(None).unshare(0x20000000) == 0\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(this_machine() == before)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


@LINUX
def test_other_boots_and_texts_that_name_nobody_are_not_gone():
    for owner in ("", "another-boot:1:1", f"{this_machine()}:-1:1", f"{this_machine()}:0:1"):
        assert not process_is_gone(owner)
    assert not process_is_gone(f"{this_machine()}:9999999999:1")  # no process has such a number


def test_without_proc_nobody_is_gone(monkeypatch):
    monkeypatch.setattr(process_owner, "this_machine", lambda: "unknown-1")
    assert not process_is_gone(f"machine:{2**22}:1")


@pytest.mark.parametrize(
    "text",
    ["²:²:²", "²", 7, None, [], "a:1", "a:1:1:1", "a:1:1\n", "\x1b:1:1", "a:٣:1", "x" * 10**7],
)
def test_text_that_names_no_owner(text):
    with pytest.raises(ValueError, match="does not name an owner") as caught:
        check_owner(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 120

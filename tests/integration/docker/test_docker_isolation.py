"""What the code in the default container can do, and what its limits hold."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest
from docker_waiting import eventually
from smolagents.utils import AgentError

from smolagents_fork.errors import ExecutorError, SandboxDiedError, SandboxTimeoutError
from smolagents_fork.executors.docker import DockerExecutor


def test_not_root_and_without_capabilities(shared):
    status = shared("open('/proc/self/status').read()").output
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == ["1000"] * 4
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_only_loopback_and_no_published_port(shared):
    assert shared("import os; os.listdir('/sys/class/net')").output == ["lo"]
    shared.container.reload()
    assert shared.container.attrs["NetworkSettings"]["Ports"] in ({}, None)
    assert shared.container.attrs["HostConfig"]["NetworkMode"] == "none"
    with pytest.raises(AgentError, match=r"Network is unreachable"):
        shared("import socket; socket.create_connection(('192.0.2.1', 80), 2)")


def test_root_is_read_only_and_the_work_folder_is_not(shared):
    for path in ("/etc/x", "/opt/kernel/x", "/usr/x", "/x"):
        with pytest.raises(AgentError, match=r"Read-only file system|Permission denied"):
            shared(f"open({path!r}, 'w')")
    for path in ("/workspace/x", "/tmp/x"):
        assert shared(f"open({path!r}, 'w').write('abc')").output == 3


def test_default_limits_are_in_the_engine(shared):
    shared.container.reload()
    host = shared.container.attrs["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 2 << 30
    assert (host["NanoCpus"], host["PidsLimit"]) == (1_000_000_000, 256)
    assert (host["CapDrop"], host["CapAdd"], host["Privileged"]) == (["ALL"], None, False)
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Init"] is True
    mounts = [
        line.split()
        for line in shared("open('/proc/self/mounts').read().strip()").output.split("\n")
    ]
    kinds = {mount[1]: (mount[2], mount[3].split(",")) for mount in mounts}
    assert kinds["/"][1][0] == "ro"
    for folder, size in (("/workspace", "524288k"), ("/tmp", "131072k")):
        kind, options = kinds[folder]
        assert kind == "tmpfs"
        assert {"rw", "nosuid", "nodev", "noexec", f"size={size}"} <= set(options)


def test_no_host_secret_in_the_container(make, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_HOST", "hunter2-hunter2")
    executor = make()
    seen = executor("import os; dict(os.environ)").output
    assert "hunter2-hunter2" not in str(seen)
    assert "KG_AUTH_TOKEN" not in seen


class Attack:
    """A program that attacks in a thread, until it is ended; and what others get done meanwhile."""

    def __init__(self, executor, code):
        self.began = threading.Event()
        self.error = None
        self.executor = executor
        executor._session.options = executor.options = dataclasses.replace(
            executor.options, on_output=lambda _text: self.began.set()
        )
        self.thread = threading.Thread(target=self._run, args=("print('go', flush=True)\n" + code,))

    def _run(self, code):
        try:
            self.output = self.executor(code)
        except Exception as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        assert self.began.wait(20)
        return self

    def __exit__(self, *_):
        self.thread.join(60)
        assert not self.thread.is_alive()


def others_go_on(attack, other):
    """``other`` runs code, writes files and starts processes while the attack is under way."""
    started = time.monotonic()
    for number in range(3):
        assert other(f"{number} + 1").output == number + 1
    code = (
        "import subprocess\n"
        "open('/tmp/mine', 'w').write('a' * 1_000_000)\n"
        "block = bytearray(30_000_000)\n"
        "subprocess.run(['echo', 'alive'], capture_output=True, text=True).stdout"
    )
    assert other(code).output == "alive\n"
    assert attack.thread.is_alive(), "the attack was over before the others were asked"
    assert time.monotonic() - started < 5


def test_fork_bomb_ends_within_its_limit_and_others_go_on(make, shared):
    executor = make(pids_limit=64, timeout_seconds=2.5, interrupt_grace_seconds=0.5)
    code = (
        "import os\n"
        "while True:\n"
        "    try:\n        os.fork()\n"
        "    except OSError as error:\n        words = str(error)\n"
    )
    with Attack(executor, code) as attack:
        assert eventually(lambda: (executor.stats().pids or 0) >= 60, 5)
        others_go_on(attack, shared)
        assert executor.stats().pids <= 64
    assert isinstance(attack.error, SandboxTimeoutError)
    assert "timeout_seconds=2.5" in str(attack.error)
    assert executor("'again'").output == "again"


def test_fork_bomb_that_does_not_catch_is_told_what_the_limit_says(make):
    executor = make(pids_limit=64, timeout_seconds=3, interrupt_grace_seconds=0.5)
    with pytest.raises((AgentError, ExecutorError)) as caught:
        executor("import os\nwhile True:\n    os.fork()")
    words = ("Resource temporarily unavailable", "timeout_seconds=3", "ended")
    assert any(some in str(caught.value) for some in words)
    # Its children may still be there, and share the sandbox' one core with what comes next.
    executor._session.options = executor.options = dataclasses.replace(
        executor.options, timeout_seconds=30
    )
    assert executor("'again'").output == "again"


def test_memory_hog_is_killed_and_the_error_says_so_and_others_go_on(make, shared):
    executor = make(memory="400m", workdir_size="20m", tmp_size="20m", timeout_seconds=30)
    # Slowly enough that others can be asked meanwhile, and into the limit.
    code = (
        "import time\n"
        "hog = []\n"
        "while True:\n"
        "    hog.append(bytearray(4_000_000))\n"
        "    time.sleep(0.02)\n"
    )
    with Attack(executor, code) as attack:
        others_go_on(attack, shared)
    assert isinstance(attack.error, SandboxDiedError)
    assert "out of memory" in str(attack.error)
    assert "memory='400m'" in str(attack.error) or "raise memory=" in str(attack.error)
    assert "state is lost" in str(attack.error)
    assert executor("'again'").output == "again"


@pytest.mark.parametrize("folder", ["/workspace", "/tmp"])
def test_full_disk_is_an_error_and_the_kernel_stays_and_others_go_on(small_disk, shared, folder):
    small_disk("kept = 1")
    fill = (
        "import time\n"
        f"with open({folder!r} + '/big', 'wb', buffering=0) as big:\n"
        "    while True:\n"
        "        if not big.write(b'x' * 1_000_000): break\n"
    )
    keep_trying = (
        "import time\nend = time.monotonic() + 1.5\nfailed = 0\n"
        "while time.monotonic() < end:\n"
        "    try:\n"
        f"        open({folder!r} + '/big', 'ab').write(b'x' * 1_000_000)\n"
        "    except OSError as error:\n"
        "        failed += 1\n"
        "failed"
    )
    with pytest.raises(AgentError, match=r"OSError: \[Errno 28\] No space left on device"):
        small_disk(fill)
    with Attack(small_disk, keep_trying) as attack:
        others_go_on(attack, shared)
    assert attack.error is None
    assert attack.output.output > 0
    assert small_disk("kept").output == 1
    small_disk(f"import os; os.remove({folder!r} + '/big')")
    assert small_disk(f"open({folder!r} + '/new', 'w').write('abc')").output == 3


@pytest.fixture(scope="module")
def small_disk(image):
    with DockerExecutor(workdir_size="10m", tmp_size="10m") as executor:
        yield executor


def test_log_of_the_container_cannot_fill_the_hosts_disk(small_disk, engine):
    config = engine.api.inspect_container(small_disk.container.id)["HostConfig"]["LogConfig"]
    assert config == {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}


def test_busy_loop_is_interrupted_and_others_go_on(make, shared):
    executor = make(timeout_seconds=1.5)
    executor("kept = 1")
    with Attack(executor, "while True: pass") as attack:
        others_go_on(attack, shared)
    assert isinstance(attack.error, SandboxTimeoutError)
    assert "timeout_seconds=1.5; the kernel was interrupted" in str(attack.error)
    assert executor("kept").output == 1


def test_own_gateway_is_of_no_use_to_the_code(shared):
    code = (
        "import urllib.request, urllib.error\n"
        "try:\n"
        "    urllib.request.urlopen('http://127.0.0.1:8888/api/kernelspecs', timeout=5)\n"
        "    answer = 'open'\n"
        "except urllib.error.HTTPError as error:\n"
        "    answer = error.code\n"
        "answer"
    )
    assert shared(code).output in (401, 403)


def test_container_arguments_have_the_last_word(make):
    executor = make(container_run_kwargs={"mem_limit": "333m", "memswap_limit": "333m"})
    executor.container.reload()
    assert executor.container.attrs["HostConfig"]["Memory"] == 333 << 20

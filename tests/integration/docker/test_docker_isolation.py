"""What the code in the default container can do, and what its limits hold."""

from __future__ import annotations

import pytest
from smolagents.utils import AgentError

from smolagents_fork.errors import ExecutorError, SandboxDiedError, SandboxTimeoutError


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


def test_engine_has_the_limits_that_were_asked_for(make):
    executor = make(
        memory="300m", cpus=0.5, pids_limit=77, workdir_size="20m", tmp_size="30m", user="4321:8765"
    )
    executor.container.reload()
    host = executor.container.attrs["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 300 << 20
    assert host["NanoCpus"] == 500_000_000
    assert host["PidsLimit"] == 77
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Init"] is True
    assert executor("import os; (os.getuid(), os.getgid())").output == (4321, 8765)
    sizes = executor(
        "[os.statvfs(p).f_blocks * os.statvfs(p).f_frsize for p in ('/workspace', '/tmp')]"
    )
    assert sizes.output == [20 << 20, 30 << 20]


def test_no_host_secret_in_the_container(make, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_HOST", "hunter2-hunter2")
    executor = make()
    seen = executor("import os; dict(os.environ)").output
    assert "hunter2-hunter2" not in str(seen)
    assert "KG_AUTH_TOKEN" not in seen


def test_fork_bomb_ends_within_its_limit_and_others_go_on(make, shared):
    executor = make(pids_limit=64, timeout_seconds=5, interrupt_grace_seconds=1)
    with pytest.raises((AgentError, ExecutorError)) as caught:
        executor("import os\nwhile True:\n    os.fork()")
    assert any(
        words in str(caught.value)
        for words in ("Resource temporarily unavailable", "timeout_seconds=5", "ended")
    )
    assert shared("'alive'").output == "alive"
    assert executor("'again'").output == "again"


def test_memory_hog_is_killed_and_the_error_says_so(make, shared):
    executor = make(memory="200m", workdir_size="20m", tmp_size="20m", timeout_seconds=30)
    with pytest.raises(SandboxDiedError) as caught:
        executor("hog = []\nwhile True:\n    hog.append(bytearray(10_000_000))")
    assert "out of memory" in str(caught.value)
    assert "memory='200m'" in str(caught.value) or "memory=" in str(caught.value)
    assert "state is lost" in str(caught.value)
    assert shared("'alive'").output == "alive"
    assert executor("'again'").output == "again"


def test_full_disk_is_an_error_and_the_kernel_stays(make):
    executor = make(workdir_size="10m")
    executor("kept = 1")
    with pytest.raises(AgentError, match="No space left on device"):
        executor("open('big', 'wb').write(b'x' * 20_000_000)")
    assert executor("kept").output == 1


def test_busy_loop_is_interrupted_and_others_go_on(make, shared):
    executor = make(timeout_seconds=1.5)
    with pytest.raises(
        SandboxTimeoutError, match=r"timeout_seconds=1\.5; the kernel was interrupted"
    ):
        executor("while True: pass")
    assert shared("'alive'").output == "alive"


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

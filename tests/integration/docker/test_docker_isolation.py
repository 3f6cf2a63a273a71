"""Rights of code in the default container, and its limits."""

from __future__ import annotations

import contextlib

import pytest
from background import eventually, running
from docker_waiting import first_print, set_options
from smolagents.utils import AgentError
from whole_contract import WHOLE

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


def test_default_limits_are_in_the_engine(shared):
    shared.container.reload()
    host = shared.container.attrs["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 2 << 30
    assert (host["NanoCpus"], host["PidsLimit"]) == (1_000_000_000, 256)
    assert (host["CapDrop"], host["CapAdd"], host["Privileged"]) == (["ALL"], None, False)
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Init"] is False  # the fork's own is process 1: see the lease's tests
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


# How much longer an attack lasts each time it is tried: on a busy machine the first may be over
# before anybody else has been asked.
LONGER = (1, 5, 25)


def attacked(executor, other, code, seconds=None, meanwhile=lambda _attack: True):
    """The call of code that attacks, over; ``other`` got its work done while it was under way.

    Args:
        executor: runs the attack.
        other: runs code, writes files and starts processes meanwhile.
        code: called with a factor by which the attack is to last longer.
        seconds: the attack's limit, to be multiplied too.
        meanwhile: whether the attack is as it should be.
    """
    for longer in LONGER:
        if seconds is not None:
            set_options(executor, timeout_seconds=seconds * longer)
        begun = first_print(executor)
        program = "print('go', flush=True)\n" + code(longer)
        with running(executor, program, stop=executor.interrupt) as attack:
            attack.until(lambda begun=begun: begun.is_set() or attack.ended)
            expected = meanwhile(attack)
            works_on(other)
            under_way = not attack.ended
            attack.error()
        if under_way:
            assert expected
            return attack
    raise AssertionError("the attack was always over before the others were asked")


def works_on(other):
    """It runs code, writes files and starts processes, each within the time it has."""
    for number in range(3):
        assert other(f"{number} + 1").output == number + 1
    code = (
        "import subprocess\n"
        "open('/tmp/mine', 'w').write('a' * 1_000_000)\n"
        "block = bytearray(30_000_000)\n"
        "subprocess.run(['echo', 'alive'], capture_output=True, text=True).stdout"
    )
    assert other(code).output == "alive\n"


def test_fork_bomb_ends_within_its_limit_and_others_go_on(make, shared):
    executor = make(pids_limit=64, interrupt_grace_seconds=0.5)
    code = (
        "import os\n"
        "while True:\n"
        "    try:\n        os.fork()\n"
        "    except OSError as error:\n        words = str(error)\n"
    )

    def at_its_limit(attack):
        most = []

        def looked():
            with contextlib.suppress(ExecutorError):  # over already
                most.append(executor.stats().pids or 0)
            return attack.ended or max(most, default=0) >= 60

        return eventually(looked) and 60 <= max(most, default=0) <= 64

    attack = attacked(executor, shared, lambda _longer: code, 2.5, at_its_limit)
    assert isinstance(attack.error(), SandboxTimeoutError)
    assert f"timeout_seconds={executor.options.timeout_seconds}" in str(attack.error())
    set_options(executor, timeout_seconds=60)
    assert executor("'again'").output == "again"


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_fork_bomb_that_does_not_catch_is_told_what_the_limit_says(make):
    executor = make(pids_limit=64, timeout_seconds=3, interrupt_grace_seconds=0.5)
    with pytest.raises((AgentError, ExecutorError)) as caught:
        executor("import os\nwhile True:\n    os.fork()")
    words = ("Resource temporarily unavailable", "timeout_seconds=3", "ended")
    assert any(some in str(caught.value) for some in words)
    # Its children may still be there, and share the sandbox' one core with what comes next.
    set_options(executor, timeout_seconds=60)
    assert executor("'again'").output == "again"


def test_memory_hog_is_killed_and_the_error_says_so_and_others_go_on(make, shared):
    executor = make(memory="400m", workdir_size="20m", tmp_size="20m", timeout_seconds=120)
    # Slowly enough that others can be asked meanwhile, and into the limit.
    code = (
        "import time\n"
        "hog = []\n"
        "while True:\n"
        "    hog.append(bytearray(4_000_000))\n"
        "    time.sleep(0.02 * {})\n"
    )
    error = attacked(executor, shared, code.format).error()
    assert isinstance(error, SandboxDiedError)
    assert error.cause == "out_of_memory"
    words = "exit code 137 (SIGKILL), out of memory: raise memory=, or use less"
    assert words in str(error)
    assert "state is lost" in str(error)
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
        "import time\nend, failed = time.monotonic() + 1.5 * {}, 0\n"
        "while time.monotonic() < end:\n"
        "    try:\n"
        f"        open({folder!r} + '/big', 'ab').write(b'x' * 1_000_000)\n"
        "    except OSError as error:\n"
        "        failed += 1\n"
        "failed"
    )
    with pytest.raises(AgentError, match=r"No space left on device[\s\S]*by workdir_size="):
        small_disk(fill)
    attack = attacked(small_disk, shared, keep_trying.format)
    assert attack.result().output > 0
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

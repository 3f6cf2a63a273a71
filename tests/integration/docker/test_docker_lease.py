"""kill -9 of the host process: within the lease nothing is left, whatever the image is."""

from __future__ import annotations

import time

import pytest
from background import eventually, host_process
from docker_waiting import containers_of
from whole_contract import every

LEASE_SECONDS = 5
# The engine's own work behind it, on a busy machine; quiet, one or two.
ENGINE_SECONDS = 60

OWN = (
    "FROM {image}\n"
    # Any command: no main process knows of the lease.
    'CMD ["sh", "-c", "exec python /opt/kernel/kernel_server.py"]\n'
)
PROGRAM = """
import os, time
from smolagents_fork.sandboxes import process_owner
# What removes the container is to be the lease: any process of this machine that starts an executor
# removes containers of this machine's dead processes.
process_owner.this_machine = lambda: "machine-of-" + str(os.getpid())
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker import DockerPool
{start}
print("ready", flush=True)
time.sleep(600)
"""


def assert_gone(engine, process):
    gone = eventually(
        lambda: not containers_of(engine, process.pid), LEASE_SECONDS + ENGINE_SECONDS
    )
    left = containers_of(engine, process.pid)
    for name in left:
        engine.api.remove_container(name, force=True)
    assert gone


@pytest.fixture(scope="module")
def own_image(image, engine):
    from smolagents_fork.executors.docker import DockerExecutor

    return DockerExecutor.setup(
        dockerfile_content=OWN.format(image=image), progress=lambda _line: None
    )


CALL = "; assert e('1+1').output == 2"
#: The lease is the same in each; what a main process, a pool or a child does to it is not.
WAYS = {
    "image": f"e = DockerExecutor(image=IMAGE, **LEASE){CALL}",
    "default": f"e = DockerExecutor(**LEASE){CALL}",
    "engine's init": (
        f"e = DockerExecutor(image=IMAGE, container_run_kwargs={{'init': True}}, **LEASE){CALL}"
    ),
    "pool": (
        "p = DockerPool(min_size=1, max_size=2, image=IMAGE, **LEASE)\n"
        "assert p.wait_until_ready(timeout=120)"
    ),
    # A child that lives on has copies of the parent's connections.
    "forked child": (
        f"e = DockerExecutor(**LEASE){CALL}\n"
        "import warnings\n"
        "warnings.simplefilter('ignore')\n"
        "if os.fork() == 0:\n"
        "    time.sleep(600)\n"
        "    os._exit(0)"
    ),
}
# Made in a thread that has ended.
MAKE = """
import threading

def ready():
    print("ready", flush=True)

def wait_on_the_host():
    ready()
    time.sleep(600)

def make():
    made = []
    options = dict(image=IMAGE, timeout_seconds=600, **LEASE)
    thread = threading.Thread(target=lambda: made.append(DockerExecutor(**options)))
    thread.start()
    thread.join()
    made[0].send_tools(dict(ready=ready, wait_on_the_host=wait_on_the_host))
    return made[0]

"""
#: A host that is killed: when its container is there, while code runs, while a tool of it works.
MOMENTS = {
    "start": f"{MAKE}ready()\nmake()",
    "call": f"{MAKE}e = make(); e('ready()\\nwhile True: pass')",
    "tool call": f"{MAKE}e = make(); e('wait_on_the_host()')",
}


@pytest.mark.parametrize("way", [*every(2, list(WAYS)), *MOMENTS])
def test_killed_host_process_leaves_nothing_after_the_lease(own_image, engine, way):
    options = f"IMAGE, LEASE = {own_image!r}, {{'lease_seconds': {LEASE_SECONDS}}}\n"
    start = options + (WAYS | MOMENTS)[way]
    with host_process(PROGRAM.format(start=start)) as process:
        # One that is made and not started has no lease; the next start of an executor removes it.
        assert eventually(lambda: containers_of(engine, process.pid, status="running"))
        # While the host lives the lease does not run, however long nothing is done.
        time.sleep(LEASE_SECONDS + 1 if way == "image" else 0)
        assert containers_of(engine, process.pid)
        process.kill()
        process.wait(120)
        assert_gone(engine, process)


def test_lost_connections_do_not_end_a_container_whose_lease_is_renewed(make, proxy, engine):
    executor = make(lease_seconds=LEASE_SECONDS)
    name = executor.container.name
    for _ in range(2):
        attached = len(proxy.asked(r"POST \S+/attach"))
        proxy.reset()
        # More than once where a first process answers late.
        assert eventually(lambda n=attached: len(proxy.asked(r"POST \S+/attach")) > n)
    # Longer than what the last renewal on a lost connection was good for.
    time.sleep(2 * LEASE_SECONDS)
    assert engine.api.inspect_container(name)["State"]["Running"]
    # The engine has died for this process: the lease is renewed no more.
    proxy.close()
    gone = {"filters": {"name": name}, "all": True}
    assert eventually(lambda: not engine.api.containers(**gone), LEASE_SECONDS + ENGINE_SECONDS)


# What a program can try that wants to outlive its host process. Its user is that of everything in
# the container: it may kill, stop and trace it, and open what it has open.
HOSTILE = """
import ctypes, os, signal, time
if os.fork() == 0:
    os.setsid()
    others = [int(name) for name in os.listdir('/proc') if name.isdigit()]
    held = []
    for pid in others:
        for number in range(16):
            # The other end of the standard input, which then never comes to its end.
            try:
                held.append(os.open(f'/proc/{pid}/fd/{number}', os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass
    libc = ctypes.CDLL(None)
    libc.ptrace(0x4206, 1, 0, 0)  # PTRACE_SEIZE
    libc.ptrace(0x4207, 1, 0, 0)  # PTRACE_INTERRUPT
    while not os.path.exists('/workspace/ended'):  # the call that started this
        time.sleep(0.01)
    for pid in others:
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                pass
    open('/workspace/stopped', 'w').close()
    time.sleep(600)
    os._exit(0)
"""
HOSTILE_HOST = """
import time
e({program!r})
e.container.exec_run(["touch", "/workspace/ended"])
end = time.monotonic() + 120
while e.container.exec_run(["test", "-e", "/workspace/stopped"]).exit_code:
    assert time.monotonic() < end
"""


def test_program_cannot_make_its_container_outlive_the_lease(image, engine):
    start = f"e = DockerExecutor(lease_seconds={LEASE_SECONDS})" + HOSTILE_HOST.format(
        program=HOSTILE
    )
    with host_process(PROGRAM.format(start=start)) as process:
        assert containers_of(engine, process.pid)
        process.kill()
        process.wait(120)
        assert_gone(engine, process)


ORPHANS = """
import os, time
for _ in range(20):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
def zombies():
    found = 0
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat') as stat:
                    found += stat.read().rpartition(')')[2].split()[0] == 'Z'
            except OSError:
                pass
    return found
end = time.monotonic() + 60
while (left := zombies()) and time.monotonic() < end:
    time.sleep(0.01)
left
"""


def test_with_the_engines_init_the_code_can_stop_who_keeps_the_lease(make):
    executor = make(container_run_kwargs={"init": True})
    code = (
        "import os, signal, time\n"
        "def words(number): return open(f'/proc/{number}/cmdline').read()\n"
        "def state(number): return open(f'/proc/{number}/stat').read().rpartition(')')[2].split()\n"
        "def keeps(number): return state(number)[1] == '1' and 'lease=' in words(number)\n"
        "kept = next(n for n in os.listdir('/proc') if n.isdigit() and keeps(n))\n"
        "os.kill(int(kept), signal.SIGSTOP)\n"
        "end = time.monotonic() + 50\n"
        "while state(kept)[0] != 'T' and time.monotonic() < end: time.sleep(0.01)\n"
        "words(1).startswith('python3'), state(kept)[0]"
    )
    assert executor(code).output == (False, "T")


def test_orphans_are_reaped_and_do_not_fill_the_process_table(shared):
    assert shared(ORPHANS).output == 0
    assert shared("open('/proc/1/cmdline').read().split(chr(0))[0]").output == "python3"

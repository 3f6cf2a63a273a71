"""Keywords take effect in the engine and for the code."""

from __future__ import annotations

import os

import pytest
from smolagents.local_python_executor import PythonExecutor
from smolagents.utils import AgentError

from smolagents_fork.executors.docker import DockerExecutor

MIB = 1 << 20

# The control groups' own files, of both versions, as the code in the container reads them.
CGROUPS = """
def number(*paths):
    for path in paths:
        try:
            return open("/sys/fs/cgroup/" + path).read().split()
        except OSError:
            continue
{
    "memory": number("memory.max", "memory/memory.limit_in_bytes"),
    "pids": number("pids.max", "pids/pids.max"),
    "cpu": number("cpu.max") or number("cpu/cpu.cfs_quota_us") + number("cpu/cpu.cfs_period_us"),
}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for reading and one for writing, as the engine's host sees them."""
    read, written = tmp_path_factory.mktemp("read"), tmp_path_factory.mktemp("written")
    (read / "in.txt").write_text("from the host")
    read.chmod(0o755)
    written.chmod(0o777)
    return read, written


@pytest.fixture(scope="module")
def asked(image, folders):
    """One executor with every limit and path set to something of its own."""
    read, written = folders
    with DockerExecutor(
        memory="300m",
        cpus=0.5,
        pids_limit=77,
        user="4321:8765",
        workdir="/work",
        workdir_size="20m",
        tmp_size=30 * MIB,
        read_only=False,
        disk_size=None,
        runtime="runc",
        environment={"GREETING": "hello = there", "EMPTY": ""},
        volumes={
            str(read): {"bind": "/data", "mode": "ro"},
            str(written): {"bind": "/out", "mode": "rw"},
        },
    ) as executor:
        executor.container.reload()
        yield executor


def test_limits_are_in_the_engine_and_in_the_control_groups(asked):
    host = asked.container.attrs["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 300 * MIB
    assert host["NanoCpus"] == 500_000_000
    assert host["PidsLimit"] == 77
    seen = asked(CGROUPS).output
    assert seen["memory"] == [str(300 * MIB)]
    assert seen["pids"] == ["77"]
    assert int(seen["cpu"][0]) / int(seen["cpu"][1]) == 0.5
    assert asked.stats().memory_limit_bytes == 300 * MIB


def test_user(asked):
    assert asked.container.attrs["Config"]["User"] == "4321:8765"
    assert asked("import os; (os.getuid(), os.getgid(), os.getgroups())").output == (
        4321,
        8765,
        [8765],
    )
    # It has no entry in the image, but a name in the environment.
    assert asked("import getpass; getpass.getuser()").output == "sandbox"
    assert asked("os.path.expanduser('~')").output == "/work"


def test_folders_have_their_sizes_and_belong_to_the_user(asked):
    code = (
        "import os\n"
        "[[os.statvfs(p).f_blocks * os.statvfs(p).f_frsize, os.stat(p).st_uid == os.getuid()]\n"
        " for p in ('/work', '/tmp')]"
    )
    assert asked(code).output == [[20 * MIB, True], [30 * MIB, False]]
    assert asked("os.getcwd()").output == "/work"
    asked.put_file(b"relative", "here")
    assert asked("open('/work/here').read()").output == "relative"


def test_environment(asked):
    assert asked("import os; [os.environ['GREETING'], os.environ['EMPTY']]").output == [
        "hello = there",
        "",
    ]
    assert "GREETING=hello = there" in asked.container.attrs["Config"]["Env"]


def test_volumes(asked, folders):
    assert asked("open('/data/in.txt').read()").output == "from the host"
    with pytest.raises(AgentError, match="Read-only file system"):
        asked("open('/data/mine', 'w')")
    asked("open('/out/made.txt', 'w').write('from inside')")
    assert (folders[1] / "made.txt").read_text() == "from inside"
    assert os.stat(folders[1] / "made.txt").st_uid == 4321
    modes = {m["Destination"]: m["RW"] for m in asked.container.attrs["Mounts"]}
    assert modes == {"/data": False, "/out": True}


def test_root_that_may_be_written_to_and_the_default_that_may_not(asked, shared):
    # A folder of the image that everybody may write to: only read_only= can forbid it.
    code = "open('/var/tmp/probe', 'w').write('abc')"
    assert asked.container.attrs["HostConfig"]["ReadonlyRootfs"] is False
    assert asked(code).output == 3
    shared.container.reload()
    assert shared.container.attrs["HostConfig"]["ReadonlyRootfs"] is True
    with pytest.raises(AgentError, match="Read-only file system"):
        shared(code)


def test_runtime(asked):
    assert asked.container.attrs["HostConfig"]["Runtime"] == "runc"


def test_no_limits_where_none_are_asked_for(make):
    executor = make(memory=None, cpus=None, pids_limit=None)
    executor.container.reload()
    host = executor.container.attrs["HostConfig"]
    assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (0, 0, None)
    assert executor.stats().memory_limit_bytes is None
    assert executor("1").output == 1


def test_shared_memory_is_of_the_engines_default_size(shared):
    code = (
        "import os\n"
        "with open('/dev/shm/probe', 'wb') as file: written = file.write(bytes(1_000_000))\n"
        "os.remove('/dev/shm/probe')\n"
        "status = os.statvfs('/dev/shm')\n"
        "[written, status.f_blocks * status.f_frsize]"
    )
    assert shared(code).output == [1_000_000, 64 * MIB]


@pytest.mark.parametrize("folder", ["/dev/shm", "/workspace", "/tmp"])
def test_files_in_memory_count_as_memory(shared, folder):
    before = shared.stats().memory_bytes
    shared(f"with open('{folder}/probe', 'wb') as file: file.write(bytes(40_000_000))")
    try:
        assert shared.stats().memory_bytes - before > 30_000_000
    finally:
        shared(f"import os; os.remove('{folder}/probe')")


def test_upstreams_contract_and_keywords(make, image, engine, throw_away):
    # Others may run the same test on the same engine.
    name = f"localhost:5000/smolagents-fork/test-name-{os.getpid()}:v1"
    throw_away(name)
    assert issubclass(DockerExecutor, PythonExecutor)
    assert DockerExecutor.supports_managed_agents
    executor = make(
        additional_imports=[],
        logger=None,
        allow_pickle=False,
        host="127.0.0.1",
        port=None,
        image_name=name,
        build_new_image=True,
        container_run_kwargs={"environment": ["SEEN=yes"], "labels": {"mine": "1"}},
        dockerfile_content=None,
    )
    assert executor("import os; os.environ['SEEN']").output == "yes"
    executor.container.reload()
    assert executor.container.labels["mine"] == "1"
    named = engine.api.inspect_image(name)
    assert named["Id"] == engine.api.inspect_image(image)["Id"]
    assert executor.is_alive()
    executor.delete()

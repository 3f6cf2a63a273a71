"""All of CPython against the kernel: attacks reach nothing, even with features masked."""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import confined_attacks
import pytest
from attacks import ATTACKS, GROUPS
from background import eventually
from confined_attacks import raw_executor
from process_harness import SHARP, NewResources, by_ordinary_user, executor, in_container

from smolagents_fork.errors import InterpreterError, SandboxDiedError
from smolagents_fork.process.confinement_report import MEASURES, Kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")


PROGRAM = confined_attacks.__file__
KERNELS = {
    "all": Kernel(),
    "Landlock 1": Kernel(landlock=1),
    "no namespaces": Kernel(namespaces=False),
    "Landlock 1, no namespaces": Kernel(landlock=1, namespaces=False),
}


def not_refused(outcomes: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in outcomes.items() if not text.startswith("refused: ")}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return confined_attacks.outcomes()


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_reaches_nothing(outcomes, name: str):
    if name not in outcomes:
        pytest.skip("this machine has no such call")
    assert outcomes[name].startswith("refused: ")


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "all"])
def test_attacks_reach_nothing_with_features_masked(name: str):
    found = confined_attacks.outcomes(KERNELS[name])
    assert len(found) > 200
    assert not_refused(found) == {}


def test_attacks_reach_nothing_without_landlock_but_for_files():
    groups = GROUPS.keys() - {"files", "processes", "descriptors"}
    found = confined_attacks.outcomes(Kernel(landlock=0), groups, allow_missing=["filesystem"])
    assert len(found) > 100
    # The program's user owns these files.
    excepted = {"programs: program of its own"}
    assert not_refused({n: text for n, text in found.items() if n not in excepted}) == {}


@pytest.mark.parametrize("masked", [{}, {"landlock": 1, "namespaces": False}], ids=str)
def test_attacks_of_an_ordinary_user_reach_nothing(masked: dict[str, Any], tmp_path):
    arguments = [PROGRAM, json.dumps(masked)]
    if os.getuid() == 0:
        run = by_ordinary_user(arguments, tmp_path)
    else:
        run = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False
        )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["user"] != 0
    assert found["in_force"] == list(MEASURES)
    assert len(found["outcomes"]) > 200
    assert not_refused(found["outcomes"]) == {}


@pytest.mark.docker
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"user": "1000:1000"},
        {"read_only": True, "tmpfs": {"/tmp": ""}, "cap_drop": ["ALL"],
         "security_opt": ["no-new-privileges"]},
    ],
    ids=["root", "ordinary user", "confined container"],
)  # fmt: skip
def test_attacks_in_an_ordinary_container_reach_nothing(engine, options: dict[str, Any]):
    run = in_container(engine, [PROGRAM], **options)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["in_force"] == list(MEASURES)
    assert len(found["outcomes"]) > 200
    assert not_refused(found["outcomes"]) == {}


#: Calls that are listed for the numbers of the filter, tried with arguments that do nothing.
EVERY_NUMBER = """
import errno
refused, other = [], []
for number in range(600):
    # 335 and 336 are for the kernel's own probes, which no filter is asked about: SIGILL.
    if number in allowed or number in special or number in (335, 336):
        continue
    try:
        call(number, -1, -1, -1, -1, -1, -1)
        other.append(number)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS): refused.append(number)
        else: other.append((number, error.errno))
other
"""


def test_every_call_that_is_not_listed_is_refused():
    from smolagents_fork.process.restrictions.seccomp import has_table
    from smolagents_fork.process.restrictions.syscalls import MACHINES, REFUSED_WITH

    assert has_table()
    numbers = MACHINES[os.uname().machine].numbers
    with confined_attacks.raw_executor() as executor:
        executor.send_variables(
            {"allowed": sorted(numbers.values()), "special": [numbers[n] for n in REFUSED_WITH]}
        )
        assert executor(EVERY_NUMBER).output == []


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the calls of x86-32")
def test_calls_of_another_architecture_end_the_child():
    # mov eax, 20 (getpid); int 0x80; ret
    code = (
        "import ctypes, mmap\npage = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\n"
        "ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"
    )
    with confined_attacks.raw_executor() as executor:
        with pytest.raises(SandboxDiedError, match=r"SIGSYS|SIGSEGV"):
            executor(code)
        assert executor("6 * 7").output == 42


#: Threads by the bare system call, which need no additional memory.
BARE_THREADS = """
import ctypes, mmap, os
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex('b822000000' '0f05' 'ebf7'))  # mov eax, 34 (pause); syscall; jmp back
entry = ctypes.addressof(ctypes.c_char.from_buffer(page))
libc = ctypes.CDLL(None, use_errno=True)
stacks = mmap.mmap(-1, 1 << 20)
base = ctypes.addressof(ctypes.c_char.from_buffer(stacks))
# clone(flags, stack) in machine code: the new thread, which sees 0, jumps to the pause.
clone = mmap.mmap(-1, 4096, prot=7)
clone.write(bytes.fromhex('b838000000' '0f05' '85c0' '7401' 'c3' 'ffe2'))
make = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long)(
    ctypes.addressof(ctypes.c_char.from_buffer(clone)))
made = 0
for n in range(2000):
    # mov eax, 56; syscall; test eax, eax; jz +1; ret; jmp rdx
    result = make(0x10F00, base + (1 << 20) - 64 - (n % 1000) * 512, entry)
    if result < 0:
        break
    made += 1
made, result
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="in its machine code")
def test_bare_threads_are_counted():
    with confined_attacks.raw_executor(max_threads=40) as executor:
        pid = executor.pid
        made, result = executor(BARE_THREADS).output
        assert (made, result) == (39, -errno.EAGAIN)
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            assert int(file.read().rpartition(")")[2].split()[17]) == 40


#: Advice by number, about files that others read: madvise, then fadvise about the other one.
ADVICE = """
import ctypes, mmap, os
number, other = (os.open(path, os.O_RDONLY) for path in paths)
size = os.fstat(number).st_size
memory = mmap.mmap(number, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
memory[:]
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
results = [LIBC.madvise(ctypes.c_void_p(place), size, one) for one in (20, 21, 25, 12, 13, 12)]
results.append(LIBC.posix_fadvise(other, 0, size, 4))
# What allocators rely on: memory that is given back reads as zeros.
own = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b"x" * 8192)
own.madvise(mmap.MADV_DONTNEED)
results, own[:] == bytes(8192), memory.madvise(mmap.MADV_WILLNEED)
"""


def test_advice_evicts_and_merges_nothing(tmp_path: Path):
    files = [tmp_path / "data", tmp_path / "other"]
    for path in files:
        with path.open("wb") as file:
            file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())  # pages that are not on the disk yet stay anyway
    with confined_attacks.raw_executor(readable_paths=files) as executor:
        executor.send_variables({"paths": [str(path) for path in files]})
        assert executor(ADVICE).output == ([0] * 7, True, None)
        assert [resident(path) for path in files] == [256, 256]
        if os.getuid() == 0:
            with open(f"/proc/{executor.pid}/smaps", encoding="utf-8") as smaps:
                flags = [line.split()[1:] for line in smaps if line.startswith("VmFlags:")]
            assert flags
            assert not [one for one in flags if "mg" in one]


def resident(path: Path) -> int:
    """Return how many pages of a file are in memory."""
    libc = ctypes.CDLL(None)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        first = ctypes.c_char.from_buffer(memory)
        pages = (ctypes.c_ubyte * (len(memory) // mmap.PAGESIZE))()
        assert libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), len(memory), pages) == 0
        del first
        return sum(page & 1 for page in pages)


def test_nothing_can_be_sent_over_the_connection_that_the_host_does_not_read():
    with executor(SHARP) as ex, pytest.raises(InterpreterError, match="BrokenPipeError"):
        ex("import os\nos.write(1001, b'x')")


def test_descriptors_sent_over_the_connection_do_not_reach_the_host():
    with executor(SHARP) as ex:
        ex("import os, socket")
        resources = NewResources()
        # An empty text frame with a hundred descriptors.
        frame = "b'\\x02\\0\\0\\0\\2\\0\\0\\0\\0'"
        code = (
            f"s = socket.socket(fileno=os.dup(1000))\nsocket.send_fds(s, [{frame}], [0] * 100)\n1"
        )
        assert ex(code).output == 1
        assert len(resources.new()) < 50, resources.new()


SWAPPED = """
import os, threading
os.makedirs('tree')
for n in range(200):
    os.makedirs(f'tree/{n}/below')
    open(f'tree/{n}/file', 'w').close()
def swap():
    # Whatever is moved here to be removed becomes a link to what is to be lost.
    while True:
        for name in os.listdir('.'):
            if name.startswith('.removing-'):
                try:
                    os.rename(name, name + 'aside')
                    os.symlink(VICTIM, name)
                except OSError:
                    pass
for _ in range(4):
    threading.Thread(target=swap, daemon=True).start()
"""


def test_links_do_not_redirect_removal(tmp_path):
    # The folder is removed while the child is being killed.
    (tmp_path / "kept").write_text("x")
    (tmp_path / "folder").mkdir(mode=0o750)
    for _ in range(5):
        with raw_executor() as ex:
            folder = ex.folder
            ex(SWAPPED.replace("VICTIM", repr(str(tmp_path))))
        assert (tmp_path / "kept").read_text() == "x"
        assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o750
        assert folder is not None
        assert eventually(lambda folder=folder: not os.path.lexists(folder))

"""The documented exceptions for useful programs, and the documented gaps: a test for each."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

import pytest
from background import eventually
from confined_attacks import raw_executor

from smolagents_fork.process.confinement_report import Kernel
from tools.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

#: Operations that the kernel refuses in the program's own folder.
REFUSED = {
    "attributes": "os.setxattr('own', 'user.note', b'x')",
    "truncating by path": "os.truncate('own', 0)",
    "flock": "fcntl.flock(open('own'), fcntl.LOCK_EX)",
    "a pool of processes": "multiprocessing.get_context('fork').Pool(1)",
    "os.nice": "os.nice(1)",
    "scheduling policies": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
    "memory files": "os.memfd_create('x')",
    "shared memory": "shared_memory.SharedMemory(create=True, size=10)",
    "inotify": "checked(LIBC.inotify_init())",
}
#: The same for files that are not the program's own, which are not there to be changed unconfined.
REFUSED_ELSEWHERE = {
    "modes of pipes": "os.fchmod(os.pipe()[0], 0o600)",
    "times behind a link": "os.symlink(os.__file__, 'link'), os.utime('link')",
    "times of a file that is absent": "os.utime('absent')",
    "another owner": "os.chown('own', os.getuid() + 1, -1)",
}
PRELUDE = """
import ctypes, fcntl, multiprocessing, os, pathlib, shutil, tarfile
from multiprocessing import shared_memory
open('own', 'w').write('12345')
def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
"""
GRANTED = {
    "modes": "os.chmod('own', 0o600)",
    "modes of an open file": "os.fchmod(os.open('own', os.O_RDONLY), 0o600)",
    "times": "os.utime('own'), os.utime(os.path.abspath('own'), (1, 1))",
    "times of an open file": "os.utime(os.open('own', os.O_RDONLY))",
    "times in an open folder": "os.utime('own', dir_fd=os.open('.', os.O_RDONLY))",
    "times of links": "os.symlink('own', 'link2'), os.utime('link2', follow_symlinks=False)",
    "owners": "os.chown('own', os.getuid(), os.getgid())",
    "touched files": "pathlib.Path('own').touch(), pathlib.Path('new').touch(), os.stat('new')",
    "whole trees": "os.mkdir('a'), pathlib.Path('a/b').touch(), shutil.copytree('a', 'b')",
    "archives": (
        "[shutil.unpack_archive(shutil.make_archive(form, form, '.', 'own'), f'from {form}') "
        "for form in ('tar', 'zip')], os.stat('from tar/own'), os.stat('from zip/own')"
    ),
    "copies": "shutil.copy('own', 'b'), shutil.copy2('own', 'c'), open('c').read()",
    "truncating what is open": "open('own', 'r+').truncate(2)",
    "a lock of a whole file": "fcntl.lockf(open('own', 'r+'), fcntl.LOCK_EX)",
}


def tried(code: str) -> str:
    return (
        f"{PRELUDE}\ntry:\n    {code}\n    shown = 'granted'\n"
        "except OSError as error:\n    shown = 'refused'\nshown"
    )


@pytest.mark.parametrize("name", [*REFUSED, *REFUSED_ELSEWHERE])
def test_refusal_is_an_ordinary_error(raw, name: str):
    code = (REFUSED | REFUSED_ELSEWHERE)[name]
    assert raw(tried(code)).output == "refused"


def test_nothing_is_refused_without_confinement():
    bare = Kernel(landlock=0, seccomp=False, namespaces=False)
    with raw_executor(bare, allow_unconfined=True) as made:
        assert {"filesystem", "syscalls", "network"} <= made.confinement["missing"].keys()
        shown = {name: made(tried(code)).output for name, code in REFUSED.items()}
    assert shown == dict.fromkeys(REFUSED, "granted")


@pytest.mark.parametrize("code", GRANTED.values(), ids=GRANTED)
def test_replacement_works(raw, code: str):
    raw(f"{PRELUDE}\n{code}")


def test_locks_by_fcntl_are_granted_without_asking(raw):
    """This includes a lock that another process has."""
    raw(PRELUDE)
    with open(Path(raw.folder) / "own", "r+", encoding="utf-8") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        code = "fcntl.lockf(open('own', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n'granted'"
        assert raw(code).output == "granted"


def test_stat_and_links_are_readable_and_contents_are_not(raw, tmp_path: Path):
    (tmp_path / "secret").write_text("12345")
    (tmp_path / "link").symlink_to("secret")
    code = f"""
import os
os.chdir('/')
def refused(function, *arguments):
    try:
        function(*arguments)
    except PermissionError:
        return True
folder = {str(tmp_path)!r}
secret, link = folder + '/secret', folder + '/link'
(
    os.path.exists(secret), os.path.exists(folder + '/other'), os.stat(secret).st_size,
    os.stat(secret).st_uid, os.readlink(link),
    refused(open, secret), refused(open, link), refused(os.listdir, folder),
)
"""
    owner = tmp_path.stat().st_uid
    assert raw(code).output == (True, False, 5, owner, "secret", True, True, True)


def test_names_beside_the_package_can_be_listed_and_files_not_read(raw):
    name = "pyproject.toml"
    code = (
        f"import os\ntry: open({str(ROOT / name)!r})\nexcept PermissionError: shown = 'refused'\n"
        f"({name!r} in os.listdir({str(ROOT)!r}), shown)"
    )
    assert raw(code).output == (True, "refused")


def test_sum_of_files_is_not_limited_only_each():
    code = """
import errno
for number in range(20):
    with open(str(number), 'wb') as file: file.write(bytes(1000))
try:
    with open('large', 'wb') as file: file.write(bytes(3000))
except OSError as error:
    shown = error.errno == errno.EFBIG
shown
"""
    with raw_executor(file_size="2000b") as made:
        assert made(code).output is True


def test_threads_of_a_hostile_program_go_on_between_calls():
    code = """
import threading
def work():
    while True: sum(range(1000))
threading.Thread(target=work, daemon=True).start()
"""
    with raw_executor() as made:
        made(code)
        before = made.stats().cpu_seconds
        assert eventually(lambda: made.stats().cpu_seconds > before + 0.05)

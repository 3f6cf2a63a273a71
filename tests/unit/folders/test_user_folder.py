"""The user's own folder: nobody else can hold, replace or read what is in it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from background import eventually, run_python

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.folders.user_folder import (
    abandoned_files,
    locked_file,
    temporary_file,
    temporary_folder,
    user_folder,
)
from smolagents_fork.wasm.pyodide_files import cache_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs users")
ROOT = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root")
OWN = "set TMPDIR to a folder of your own"


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The system's folder for temporary files, which everybody may write to."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def place_of(temporary: Path) -> Path:
    return temporary / f"smolagents-fork-{os.getuid()}"


def test_folder_is_the_users_own(temporary: Path) -> None:
    folder = temporary_folder("example-")
    number, file = temporary_file("example-")
    os.close(number)
    assert user_folder() == str(place_of(temporary))
    for path in (folder, file):
        assert Path(path).parent.parent == place_of(temporary)
        while path != str(temporary):
            status = os.stat(path)
            assert (status.st_uid, status.st_mode & 0o077) == (os.geteuid(), 0)
            path = os.path.dirname(path)


def foreign_folder(place: Path) -> str:
    place.mkdir(0o700)
    os.chown(place, 65534, 65534)
    return "belongs to user 65534, and this process is user 0"


def link_to_a_folder(place: Path) -> str:
    (place.parent / "elsewhere").mkdir(0o700)
    place.symlink_to(place.parent / "elsewhere")
    return f"is not a folder (a link of user {os.getuid()})"


def link_to_nothing(place: Path) -> str:
    place.symlink_to(place.parent / "nothing")
    return f"is not a folder (a link of user {os.getuid()})"


def pipe(place: Path) -> str:
    os.mkfifo(place, 0o600)
    return f"is not a folder (a pipe of user {os.getuid()})"


def file(place: Path) -> str:
    place.touch()
    return f"is not a folder (a file of user {os.getuid()})"


def open_folder(place: Path) -> str:
    place.mkdir()
    place.chmod(0o1777)
    return "may be entered by other users (mode 1777)"


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(foreign_folder, marks=ROOT),
        link_to_a_folder,
        link_to_nothing,
        pipe,
        file,
        open_folder,
    ],
)
def test_what_others_have_put_there_is_an_error(temporary: Path, plant) -> None:
    place = place_of(temporary)
    words = plant(place)
    for use in (user_folder, lambda: temporary_folder("x"), lambda: temporary_file("x")):
        with pytest.raises(ExecutorStartError) as caught:
            use()
        assert str(caught.value).startswith(f"{place} {words}: ")
        assert str(caught.value).endswith(f"remove it, or {OWN}")
    assert not (temporary / "nothing").exists()
    if (temporary / "elsewhere").exists():
        assert os.listdir(temporary / "elsewhere") == []


@ROOT
def test_another_user_can_neither_lock_nor_enter(temporary: Path) -> None:
    for above in [temporary, *temporary.parents][:-1]:
        if above != Path("/tmp"):
            above.chmod(0o755 if above != temporary else 0o1777)
    with locked_file("a.lock", Deadline(1.0)):
        code = (
            "import os, sys\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "for path in sys.argv[1:]:\n"
            "    for flags in (os.O_RDONLY, os.O_PATH if path == sys.argv[2] else os.O_RDWR):\n"
            "        try: os.open(path, flags)\n"
            "        except (PermissionError, IsADirectoryError): continue\n"
            "        sys.exit(path)\n"
        )
        place = place_of(temporary)
        run_python(code, str(place), str(place / "a.lock"))


@pytest.mark.parametrize("plant", [link_to_nothing, pipe, Path.mkdir])
def test_lock_that_is_not_a_file_is_an_error(temporary: Path, plant) -> None:
    plant(Path(user_folder(), "a.lock"))
    with pytest.raises(ExecutorStartError, match=r"a\.lock"), locked_file("a.lock", Deadline(9.0)):
        raise AssertionError("the lock was given")


def test_lock_is_waited_for_until_its_deadline_and_does_not_stay(temporary: Path) -> None:
    waits: list[str] = []
    with locked_file("a.lock", Deadline(1.0)):
        with (
            pytest.raises(TimeoutError),
            locked_file("a.lock", Deadline(0.2), lambda: waits.append("waits")),
        ):
            raise AssertionError("the lock was given twice")
        assert list(abandoned_files("a.")) == []
    assert waits == ["waits"]
    with pytest.raises(ZeroDivisionError), locked_file("a.lock", Deadline(1.0)):
        _ = 1 / 0
    assert not Path(user_folder(), "a.lock").exists()


PROGRAM = (
    "import os, sys, tempfile, time\n"
    "from smolagents_fork.deadline import Deadline\n"
    "from smolagents_fork.folders.user_folder import *\n"
    "folder = temporary_folder('example-')\n"
    "{}\n"
    "print(folder, flush=True)\n"
    "{}\n"
)


def started(temporary: Path, first: str, then: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(first, then)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_leaves_is_removed_by_the_next(temporary: Path) -> None:
    first = "os.makedirs(folder + '/a/b'); os.chmod(folder + '/a', 0)"
    lock = (
        "locks = [locked_file(name, Deadline(1.0)) for name in ('a.record', 'a.lock')]; "
        "[lock.__enter__() for lock in locks]"
    )
    killed, left = started(temporary, f"{first}; {lock}", "time.sleep(300)")
    living, kept = started(temporary, first, "time.sleep(300)")
    try:
        killed.kill()
        killed.communicate()
        assert left.exists()
        temporary_folder("next-")
        assert eventually(lambda: not left.parent.exists())
        assert kept.exists()
        assert eventually(lambda: not [p for p in os.listdir(user_folder()) if p[0] == "."])
        (path,) = abandoned_files("a.")
        assert path.name == "a.record"  # what has a use stays; a lock does not
    finally:
        killed.kill()
        living.kill()
        living.communicate()


def test_folder_goes_with_its_process_and_not_with_a_copy_of_it(temporary: Path) -> None:
    process, folder = started(
        temporary,
        "child = os.fork()\n"
        "if child: assert os.waitpid(child, 0)[1] == 0 and os.path.isdir(folder)\n"
        "else: sys.exit(os.path.dirname(temporary_folder('x')) == os.path.dirname(folder))",
        "",
    )
    process.communicate()
    assert process.returncode == 0
    assert not folder.exists()
    assert os.listdir(place_of(temporary)) == []


def test_lock_on_the_whole_folder_is_not_waited_for_for_ever(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smolagents_fork.folders.user_folder._LOOK_SECONDS", 0.2)
    number = os.open(user_folder(), os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        with pytest.raises(
            ExecutorStartError, match=r"has had a lock on .* for 0\.2 s: end it, or"
        ):
            temporary_folder("x")
    finally:
        os.close(number)


def test_cache_that_others_may_change_is_refused(tmp_path: Path) -> None:
    cache = cache_folder(tmp_path / "cache")
    cache.chmod(0o755)
    assert cache_folder(cache) == cache
    cache.chmod(0o775)
    with pytest.raises(ExecutorStartError) as caught:
        cache_folder(cache)
    assert str(caught.value) == (
        f"{cache} may be changed by other users (mode 775): the package's files must be where "
        "only this user can change them; remove it, or set cache_dir= to a folder of your own"
    )

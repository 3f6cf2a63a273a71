"""Checks of the interface that executors have for files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from smolagents_fork.control.control import Control
from smolagents_fork.errors import ConfigurationError, ExecutorError, ProtocolError
from smolagents_fork.executors import file_transfers
from smolagents_fork.executors.file_transfers import FileMethods, GivenFiles
from smolagents_fork.folders.work_folder import WorkFolder
from smolagents_fork.results import FileInfo


class Memory(WorkFolder):
    """A store that keeps pieces."""

    def __init__(self) -> None:
        self.pieces: dict[str, list[int]] = {}

    def describe(self, path: str) -> str:
        return path

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        self.pieces[path] = [len(piece) for piece in pieces]
        assert sum(self.pieces[path]) == size


class Box(FileMethods):
    """An executor with a store."""

    def __init__(self) -> None:
        self.store = Memory()
        self._control = Control("Box", None, None)

    def _file_store(self, action: str) -> AbstractContextManager[Memory]:
        return nullcontext(self.store)


def test_files_are_sent_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes((2 << 20) + 5))
    box = Box()
    box.put_file(tmp_path / "large", "./large")
    box.put_file(b"", "empty")
    assert box.store.pieces == {"large": [1 << 20, 1 << 20, 5], "empty": [0]}


def test_source_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3 << 20))

    class Cutting(Memory):
        def write_file(self, path_: str, pieces: Iterable[bytes], size: int) -> None:
            for _ in pieces:
                os.truncate(path, 1 << 20)

    box = Box()
    box.store = Cutting()
    with pytest.raises(ExecutorError, match=r"3145728 bytes .* 2097152 bytes are missing"):
        box.put_file(path, "file")


def test_source_that_cannot_be_read_is_an_error_that_is_not_the_connections(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3 << 20))

    class Breaking(Memory):
        def write_file(self, path_: str, pieces: Any, size: int) -> None:
            folder = os.open(tmp_path, os.O_RDONLY)
            os.dup2(folder, pieces.file.fileno())
            os.close(folder)
            super().write_file(path_, pieces, size)

    box = Box()
    box.store = Breaking()
    with pytest.raises(ExecutorError, match=r"file: the source cannot be read: .*Is a directory"):
        box.put_file(path, "file")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/self/status", "/proc/self/environ"])
def test_source_whose_size_cannot_be_known_is_an_error_that_names_it(path: str) -> None:
    message = f"its size cannot be known: read it, and pass the content as bytes: '{path}'"
    box = Box()
    with pytest.raises(OSError, match=message):
        box.put_file(path, "file")
    with pytest.raises(ExecutorError, match=rf"^files\['file'\]: .*{message}"):
        GivenFiles.of({"file": path}).send(box.store)
    assert box.store.pieces == {}


def test_folder_keeps_its_structure_and_has_a_limit(tmp_path, monkeypatch) -> None:
    for name in ("b/c", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    box = Box()
    box.put_file(tmp_path, ".")
    assert box.store.pieces == {"a": [1], "b/c": [3]}
    monkeypatch.setattr(file_transfers, "_MOST_FILES", 1)
    with pytest.raises(ConfigurationError, match="more than 1 files"):
        box.put_file(tmp_path, "x")


def test_folder_that_cannot_be_listed_is_an_error_that_names_it(tmp_path, monkeypatch) -> None:
    (tmp_path / "a").write_text("a")
    secret = tmp_path / "secret"
    secret.mkdir()

    def listdir(path, original=os.listdir):
        # The user of this test may be root, who may list everything.
        if path == secret:
            raise PermissionError(13, "Permission denied", str(path))
        return original(path)

    monkeypatch.setattr(os, "listdir", listdir)
    box = Box()
    with pytest.raises(PermissionError, match=f"'{secret}'"):
        box.put_file(tmp_path, "x")
    with pytest.raises(ExecutorError, match=rf"files\['x'\]: .*'{secret}'"):
        GivenFiles.of({"x": tmp_path}).send(box.store)
    assert box.store.pieces == {}


def test_name_that_is_not_text_is_refused(tmp_path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be sent as UTF-8: rename it"):
        Box().put_file(tmp_path, "x")


def test_given_paths_are_of_the_folder_at_that_time(tmp_path, monkeypatch) -> None:
    (tmp_path / "data.csv").write_text("1")
    monkeypatch.chdir(tmp_path)
    given = GivenFiles.of({"data.csv": "data.csv"})
    monkeypatch.chdir("/")
    store = Memory()
    given.send(store)
    assert store.pieces == {"data.csv": [1]}
    (tmp_path / "data.csv").unlink()
    with pytest.raises(ExecutorError, match=r"files\['data.csv'\]: .*No such file"):
        given.send(store)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("data.csv", "files='data.csv': pass a mapping of the code's paths to yours"),
        ({"a": "missing.csv"}, "files['a']='missing.csv': there is no such file or folder"),
        ({"a": 5}, "files['a']: source is int: pass a path of this machine, or bytes"),
        ({"../a": b""}, "files['../a']: '../a' is outside the code's work folder"),
        ({"": b""}, "files['']: '' is not a path in the sandbox: pass text, such as 'data.csv'"),
    ],
)
def test_files_that_cannot_be_given(files, words) -> None:
    with pytest.raises(ConfigurationError) as caught:
        GivenFiles.of(files)
    assert words in str(caught.value)


def test_executor_without_files_says_so() -> None:
    with pytest.raises(ConfigurationError, match="list_files: FileMethods has no files"):
        FileMethods().list_files()


TEXTS = {"a line": "a,b\n1,2\n", "long": "1," * 9000, "a name": "data.csv", "with a null": "a\0b"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_in_the_place_of_a_path_is_named(text: str) -> None:
    shown = repr(text) if len(text) < 200 else f"{text!r:.200}..."
    words = (
        f"{shown}: there is no such file or folder on this machine; a text is a path. Pass the "
        "content as bytes: text.encode()"
    )
    with pytest.raises(FileNotFoundError) as raised:
        Box().put_file(text, "x.csv")
    assert str(raised.value) == f"put_file: {words}"
    with pytest.raises(ConfigurationError) as refused:
        GivenFiles.of({"x.csv": text})
    assert str(refused.value) == f"files['x.csv']={words}"


#: Lists that code sends in the place of our program: what was asked for, a path, a size.
FORGED = {
    "absolute": (".", "/etc/passwd", 1),
    "above": (".", "../../../../etc/cron.d/x", 1),
    "above, below a folder": (".", "a/../../x", 1),
    "the folder above": (".", "..", 1),
    "the folder": (".", ".", 1),
    "not simple": (".", "a//b", 1),
    "not simple, with a dot": (".", "./a", 1),
    "a folder's form": (".", "a/", 1),
    "empty": (".", "", 1),
    "beside": ("sub", "other/x", 1),
    "beside, with the same beginning": ("sub", "subway/x", 1),
    "absolute beside": ("/tmp", "/etc/passwd", 1),
    "absolute beside, with the same beginning": ("/tmp", "/tmpfs/x", 1),
    "absolute above": ("/tmp", "/tmp/../etc/passwd", 1),
    "above, where an absolute path was asked for": ("/tmp", "../x", 1),
    "Windows": (".", "..\\..\\x", 1),
    "null": (".", "a\0b", 1),
    "line": (".", "a\nb", 1),
    "terminal": (".", "\x1b]0;title\x07", 1),
    "C1": (".", "a\x9bb", 1),
    "line separator": (".", "a\u2028b", 1),
    "surrogate": (".", "a\udc80", 1),
    "long": (".", "a" * 5000, 1),
    "long in bytes": (".", "ä" * 2500, 1),
    "negative size": (".", "a", -1),
    "huge size": (".", "a", 10**400),
}


@pytest.mark.parametrize(("asked", "path", "size"), FORGED.values(), ids=FORGED)
def test_forged_lists_are_refused(asked, path, size, monkeypatch) -> None:
    box = Box()
    answers = [FileInfo(path, size)]
    monkeypatch.setattr(box.store, "list_files", lambda _path: answers, raising=False)
    with pytest.raises(ProtocolError, match="the sandbox sent a list with the file '") as caught:
        box.list_files(asked)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_lists_are_sorted_and_bounded(monkeypatch) -> None:
    box = Box()
    names = ["b", "a", "ä b/c.d", ".x/..y"]
    answers = [FileInfo(name, 2**63 - 1) for name in names]
    monkeypatch.setattr(box.store, "list_files", lambda _path: answers, raising=False)
    assert [one.path for one in box.list_files()] == sorted(names)
    answers += [FileInfo("a", 1)]
    with pytest.raises(ProtocolError, match="the file 'a': it is listed twice"):
        box.list_files()
    answers[:] = [FileInfo("/tmp/a", 0), FileInfo("in the work folder", 0)]
    assert [one.path for one in box.list_files("/tmp")] == ["/tmp/a", "in the work folder"]
    answers[:] = [FileInfo("sub/a", 0)]
    assert box.list_files("sub") == answers
    answers[:] = [FileInfo("f", 0)]
    assert box.list_files("f") == answers
    answers[:] = [FileInfo(str(number), 0) for number in range(10_001)]
    with pytest.raises(ProtocolError, match="a list of 10001 files; it may have at most 10000"):
        box.list_files()

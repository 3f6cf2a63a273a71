"""Nothing of one executor is in the memory or the descriptors of another's child."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confined_attacks import raw_executor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and confinement")

# Each text comes in two parts, back to front, so that the search itself never has it in memory.
SEARCH = """
import ctypes
texts = {name: [part[::-1].encode() for part in parts] for name, parts in texts.items()}
found = []
for line in open("/proc/self/maps"):
    area, rights, _, _, _, *name = line.split()
    if rights[0] != "r" or name and name[0] in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
        continue
    start, end = (int(number, 16) for number in area.split("-"))
    for place in range(start, end, 1 << 20):
        data = ctypes.string_at(place, min((1 << 20) + 4096, end - place))
        for text, (first, second) in texts.items():
            at = data.find(first)
            while at >= 0:
                if data.startswith(second, at + len(first)):
                    found.append((text, line))
                at = data.find(first, at + 1)
found
"""
FRAMES = """
import gc, sys
frame, names = sys._getframe(), []
while frame is not None:
    names.append(frame.f_code.co_qualname)
    frame = frame.f_back
objects = [type(one).__name__ for one in gc.get_objects()]
[name for name in names if name.startswith("ForkServer")] + [
    name for name in objects if name in ("ForkServer", "CallSupervisor", "UserCounts")
]
"""
READABLE = """
import os
seen = []
for path in paths:
    try:
        os.close(os.open(path, os.O_RDONLY)) if path else None
    except OSError:
        continue
    seen.append(path)
[path for path in seen if path]
"""
#: Files that a child has open: no input, its standard error, its frames, its output log.
OPEN = ["/dev/null", "pipe", "pipe", "socket", "socket"]


def open_files(pid: int) -> list[str]:
    return [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]


def parts_of(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle][::-1], text[middle:][::-1]]


@pytest.fixture
def second(own_fork_server: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """An executor whose child is forked while another's runs; it has texts of that and the host."""
    monkeypatch.setenv("SECRET_OF_THE_HOST", "a-password-in-the-environment")
    given = tmp_path / "a-folder-of-the-first"
    given.mkdir()
    names = {"readable_paths": [str(given)]}
    with raw_executor(**names) as first:
        first("x = 'left-by-the-program-' + str(41 + 1)")
        with raw_executor() as made:
            texts = {
                "folder": first.folder,
                "readable path": str(given),
                "program": "left-by-the-program-42",
                "environment": os.environ["SECRET_OF_THE_HOST"],
            }
            made.other, made.texts = first, texts
            yield made


def test_nothing_of_another_child_is_in_memory(second: Any):
    own = {**second.texts, "own folder": second.folder}
    second.send_variables({"texts": {name: parts_of(text) for name, text in own.items()}})
    found = second(SEARCH).output
    assert {name for name, _ in found} == {"own folder"}, found


def test_no_frame_or_object_of_the_fork_server_is_in_memory(second: Any):
    assert second(FRAMES).output == []


def test_open_descriptors_are_the_childs_own(second: Any):
    second("1")
    files = open_files(second.pid)
    assert sorted(file.partition(":[")[0] for file in files) == OPEN
    shared = {file for file in files if ":[" in file} & set(open_files(second.other.pid))
    assert shared == set()


@pytest.mark.parametrize("network", ["none", "host"])
def test_private_keys_of_the_machine_are_not_readable(network: str):
    folders = [
        "/etc/ssl/private",
        "/etc/pki/tls/private",
        "/etc/ssl",
        "/etc/pki/tls",
        "/etc/shadow",
    ]
    certificates = next(
        (path for path in ("/etc/ssl/certs", "/etc/pki/tls/certs") if os.path.isdir(path)), None
    )
    with raw_executor(network=network) as executor:
        executor.send_variables({"paths": [*folders, certificates]})
        seen = executor(READABLE).output
    assert seen == ([certificates] if network == "host" and certificates else [])

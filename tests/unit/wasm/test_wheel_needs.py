"""Wheels that anybody may have written, whose metadata the host reads."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.wasm.wheel_needs import Wheel, resolve

NAME = "bad-1.0.dist-info/METADATA"


def write_wheel(folder: Path, metadata: bytes, method: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "bad-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(NAME, metadata)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_metadata_is_not_a_wheel(tmp_path: Path, method: int):
    path = write_wheel(tmp_path, bytes(range(256)) * 10, method)
    data = bytearray(path.read_bytes())
    start = 30 + len(NAME)
    data[start + 9 : start + 40] = b"\xff" * 31
    path.write_bytes(data)
    with pytest.raises(ExecutorStartError, match=r"^bad-1.0-py3-none-any.whl cannot be read as a"):
        Wheel.of(path)


@pytest.mark.parametrize(
    "marker",
    [f"python_version > '{'9' * 5000}'", "(" * 10_000, "python_version in python_version > '3'"],
    ids=["digits", "nesting", "syntax"],
)
def test_marker_that_cannot_be_evaluated_is_an_error_of_the_wheel(tmp_path: Path, marker: str):
    wheel = Wheel.of(write_wheel(tmp_path, f"Requires-Dist: other; {marker}\n".encode()))
    with pytest.raises(ExecutorStartError, match=r"bad-1.0-py3-none-any.whl requires .other; "):
        resolve(["bad"], {"python_version": "3.14"}, lambda _names: [wheel])


@pytest.mark.parametrize("name", ["bad-1.0.dist-info/RECORD", "bad-1.0.EGG-INFO/SOURCES.txt"])
def test_metadata_that_expands_to_many_megabytes_is_refused(tmp_path: Path, name: str):
    path = write_wheel(tmp_path, b"Name: bad\n")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad/data.py", b"#" * 5_000_000)
    assert Wheel.of(path).needs == ()
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"a.py,,\n" * 1_000_000)
    with pytest.raises(ExecutorStartError, match=r"its metadata has more than 4194304 bytes"):
        Wheel.of(path)

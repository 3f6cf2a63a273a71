"""Packages of the guest: fetched on the host, once, checked by hash."""

from __future__ import annotations

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path

import pytest
from rich.console import Console
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError, ImportRefusedError
from smolagents_fork.wasm import wheels
from smolagents_fork.wasm.pyodide_files import VERSION, cache_folder


def make_wheel(folder: Path, name: str, tag: str = "py3-none-any", needs: str = "") -> Path:
    """A wheel whose module says its own name."""
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    path = folder / f"{name}-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"NAME = {name!r}\n")
        archive.writestr(f"{name}-1.0.data/purelib/{name}_more.py", "MORE = 1\n")
        archive.writestr(f"{name}-1.0.data/scripts/{name}_program", "#!python\n")
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that the user's pip knows."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    # Pyodide's files and the snapshot are the user's; what pip chose is this test's.
    cache = tmp_path / "cache"
    cache.mkdir()
    users = cache_folder()
    for name in (f"pyodide-{VERSION}", "snapshots"):
        (cache / name).symlink_to(users / name)
    return folder


def test_package_and_what_it_depends_on(index: Path, tmp_path: Path):
    make_wheel(index, "first_one", needs="second-one")
    second = make_wheel(index, "second_one")
    options = {"cache_dir": tmp_path / "cache"}
    code = "import first_one, second_one\n[first_one.NAME, second_one.NAME]"
    imports = ["first_one", "second_one"]
    with WasmExecutor(imports, **options) as executor:
        assert executor(code).output == ["first_one", "second_one"]
    digest = hashlib.sha256(second.read_bytes()).hexdigest()
    assert (tmp_path / "cache" / "wheels" / digest / second.name).is_file()
    # Without pip and without what it fetched from: the next executor has it all.
    for path in index.iterdir():
        path.unlink()
    with WasmExecutor(imports, **options) as executor:
        assert executor(code).output == ["first_one", "second_one"]
        executor.restart()
        assert executor(code).output == ["first_one", "second_one"]
        with pytest.raises(ImportRefusedError, match="micropip"):
            executor("import micropip")


def test_parts_of_a_wheel_are_where_they_belong(index: Path, tmp_path: Path):
    make_wheel(index, "parted")
    imports = ["parted", "glob", "sysconfig"]
    with WasmExecutor(imports, cache_dir=tmp_path / "cache") as executor:
        code = (
            "import glob, sysconfig\nfolder = sysconfig.get_path('purelib')\n"
            "sorted(path[len(folder) + 1 :] for path in glob.glob(folder + '/parted*'))"
        )
        assert executor(code).output == ["parted-1.0.dist-info", "parted.py", "parted_more.py"]


def test_damaged_wheel_in_the_cache_is_fetched_again(index: Path, tmp_path: Path):
    wheel = make_wheel(index, "mended")
    lock = cache_folder() / f"pyodide-{VERSION}" / "pyodide-lock.json"
    cache = tmp_path / "cache"
    (found,) = wheels.wheels_for(["mended"], cache, lock, None, 100, print)
    found.write_bytes(b"cut short")
    assert wheels.wheels_for(["mended"], cache, lock, None, 100, print) == [found]
    assert found.read_bytes() == wheel.read_bytes()


def test_wheel_for_pyodides_platform_from_a_named_folder(index: Path, tmp_path: Path):
    folder = tmp_path / "packages"
    folder.mkdir()
    make_wheel(folder, "compiled", tag=f"cp314-cp314-{wheels.PLATFORM}")
    with WasmExecutor(["compiled"], cache_dir=tmp_path / "cache", packages_dir=folder) as executor:
        assert executor("import compiled\ncompiled.NAME").output == "compiled"


def test_wheel_that_is_not_the_locks_is_refused(index: Path, tmp_path: Path):
    folder = tmp_path / "packages"
    folder.mkdir()
    name = f"numpy-2.4.6-cp314-cp314-{wheels.PLATFORM}.whl"
    make_wheel(folder, "numpy").rename(folder / name)
    with pytest.raises(ExecutorStartError, match=f"{name} is not the wheel of Pyodide's lock"):
        WasmExecutor(["numpy"], cache_dir=tmp_path / "cache", packages_dir=folder)


def test_compiled_package_without_a_wheel_is_named(index: Path, tmp_path: Path):
    make_wheel(index, "native_thing", tag="cp314-cp314-manylinux_2_17_x86_64")
    with pytest.raises(ExecutorStartError) as caught:
        WasmExecutor(["native_thing"], cache_dir=tmp_path / "cache")
    words = str(caught.value)
    assert "No matching distribution found for native_thing" in words
    assert "native_thing has to be there as a wheel of pure Python" in words
    assert wheels.PLATFORM in words


def test_source_distribution_is_not_built(index: Path, tmp_path: Path):
    (index / "source_only-1.0.tar.gz").write_bytes(b"")
    with pytest.raises(ExecutorStartError, match="No matching distribution found for source_only"):
        WasmExecutor(["source_only"], cache_dir=tmp_path / "cache")


def test_requirement_that_is_an_option_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="is not a requirement"):
        WasmExecutor(["--index-url=http://127.0.0.1"], cache_dir=tmp_path)


def test_pip_that_does_not_answer_is_given_up(index: Path, tmp_path: Path, monkeypatch):
    def expired(*arguments, **options):
        raise subprocess.TimeoutExpired("pip", options["timeout"])

    monkeypatch.setattr(wheels.subprocess, "run", expired)
    lock = cache_folder() / f"pyodide-{VERSION}" / "pyodide-lock.json"
    with pytest.raises(ExecutorStartError, match=r"pip could not fetch slow: .*0\.5 seconds"):
        wheels.wheels_for(["slow"], tmp_path / "cache", lock, None, 0.5, print)


def test_lines_before_what_takes_long_go_to_the_logger(index: Path, tmp_path: Path, caplog):
    make_wheel(index, "noted")
    logger = AgentLogger(level=LogLevel.INFO, console=Console(file=io.StringIO(), width=200))
    line = "WasmExecutor: fetching wheels for noted with pip, once"
    with WasmExecutor(["noted"], logger, cache_dir=tmp_path / "first"):
        assert line in logger.console.file.getvalue()
    with caplog.at_level("INFO", "smolagents_fork"):
        WasmExecutor(["noted"], cache_dir=tmp_path / "second").cleanup()
    assert line in caplog.messages

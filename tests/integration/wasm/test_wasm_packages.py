"""Packages of the guest: fetched on the host, once, checked by hash."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from private_index import write_wheel_of
from rich.console import Console
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError, ImportRefusedError
from smolagents_fork.standard_library import STANDARD_MODULES, absence
from smolagents_fork.wasm import wheels
from smolagents_fork.wasm.pyodide_files import VERSION, cache_folder


def make_wheel(
    folder: Path,
    name: str,
    *needs: str,
    tag: str = "py3-none-any",
    version: str = "1.0",
    module: str = "",
) -> Path:
    """A wheel whose module says its own name."""
    data = f"{name}-{version}.data"
    files = {
        f"{module or name}.py": f"NAME = {name!r}\n",
        f"{data}/purelib/{name}_more.py": "MORE = 1\n",
        f"{data}/scripts/{name}_program": "#!python\n",
    }
    return write_wheel_of(folder, name, version, files, needs, tag)


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


def fetched(cache: Path, *requirements: str, seconds: float = 100) -> list[Path]:
    """Return the wheels of requirements, fetched by pip."""
    lock = cache_folder() / f"pyodide-{VERSION}" / "pyodide-lock.json"
    return wheels.wheels_for(list(requirements), cache, lock, None, seconds, print)


def test_package_and_what_it_depends_on(index: Path, tmp_path: Path):
    make_wheel(index, "first_one", "second-one")
    second = make_wheel(index, "second_one")
    options = {"cache_dir": tmp_path / "cache"}
    code = "import first_one, second_one\n[first_one.NAME, second_one.NAME]"
    imports = ["first_one", "second_one", "glob", "sysconfig"]
    with WasmExecutor(imports, **options) as executor:
        assert executor(code).output == ["first_one", "second_one"]
        parts = (
            "import glob, sysconfig\nfolder = sysconfig.get_path('purelib')\n"
            "sorted(path[len(folder) + 1 :] for path in glob.glob(folder + '/first*'))"
        )
        expected = ["first_one-1.0.dist-info", "first_one.py", "first_one_more.py"]
        assert executor(parts).output == expected
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


def test_standard_library_is_the_guests_own(index: Path, tmp_path: Path):
    # Anyone may register these names, which an older host does not know.
    for name in ("annotationlib", "compression"):
        make_wheel(index, name)
    imports = ["annotationlib", "compression", "sys"]
    with WasmExecutor(imports, cache_dir=tmp_path / "cache") as executor:
        code = (
            "import annotationlib, compression, sys\n"
            "hasattr(annotationlib, 'NAME'), hasattr(compression, 'NAME')"
        )
        assert executor(code).output == (False, False)
        names = set(executor("sorted(sys.stdlib_module_names)").output)
    assert not (tmp_path / "cache" / "wheels").exists()
    known = {name for name in STANDARD_MODULES if not absence(name, wheels.MINOR)}
    assert names == known - {"test"}


def test_distribution_brings_back_a_module_that_python_removed(index: Path, tmp_path: Path):
    make_wheel(index, "legacy_cgi", module="cgi")
    with WasmExecutor(["legacy-cgi"], cache_dir=tmp_path / "cache") as executor:
        assert executor("import cgi\ncgi.NAME").output == "legacy_cgi"
    with pytest.raises(ConfigurationError, match=r"has no module 'cgi': Python 3\.13 "):
        WasmExecutor(["cgi"], cache_dir=tmp_path / "cache")


def test_damaged_wheel_in_the_cache_is_fetched_again(index: Path, tmp_path: Path):
    wheel = make_wheel(index, "mended")
    (found,) = fetched(tmp_path / "cache", "mended")
    found.write_bytes(b"cut short")
    assert fetched(tmp_path / "cache", "mended") == [found]
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


HOSTILE_SETUP = """
import pathlib
pathlib.Path({mark!r}).write_text("its code ran here")
from setuptools import setup
setup(name="other", version="1.0", py_modules=[])
"""


def test_nothing_of_a_package_is_run_or_fetched_from_an_address(index: Path, tmp_path: Path):
    mark, sources = tmp_path / "mark", tmp_path / "other-1.0.tar.gz"
    with tarfile.open(sources, "w:gz") as archive:
        text = HOSTILE_SETUP.format(mark=str(mark)).encode()
        entry = tarfile.TarInfo("other-1.0/setup.py")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    make_wheel(index, "hostile", f"other @ {sources.as_uri()}")
    with pytest.raises(ExecutorStartError) as caught:
        WasmExecutor(["hostile"], cache_dir=tmp_path / "cache")
    assert str(caught.value) == (
        f"hostile-1.0-py3-none-any.whl requires 'other @ {sources.as_uri()}', which is not a name "
        "with versions: nothing is fetched from addresses that a package names"
    )
    assert not mark.exists()


@pytest.mark.parametrize(
    "record",
    [b"\xff.py,,\n", b"a" * 200_000 + b".py,,\n", b"a.py,b,c,d\n", b"a.py,," + b"9" * 5000],
)
def test_list_of_files_that_cannot_be_read_is_named(index: Path, tmp_path: Path, record: bytes):
    wheel = make_wheel(index, "hostile")
    with zipfile.ZipFile(wheel, "w") as archive:
        metadata = "Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n"
        archive.writestr("hostile-1.0.dist-info/METADATA", metadata)
        archive.writestr("hostile-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("hostile-1.0.dist-info/RECORD", record)
    with pytest.raises(ExecutorStartError, match=f"^the metadata of {wheel.name} cannot be read: "):
        WasmExecutor(["hostile>=1"], cache_dir=tmp_path / "cache")


def test_modules_of_the_current_folder_are_not_pips(index: Path, tmp_path: Path, monkeypatch):
    folder = tmp_path / "current"
    folder.mkdir()
    (folder / "pip.py").write_text("raise SystemExit('the folder's own')")
    monkeypatch.chdir(folder)
    make_wheel(index, "found")
    assert len(fetched(tmp_path / "cache", "found")) == 1


def names_for(index: Path, tmp_path: Path, *requirements: str) -> list[str]:
    found = fetched(tmp_path / "cache", *requirements)
    return sorted("-".join(path.name.split("-")[:2]) for path in found)


def test_markers_are_those_of_the_guest_and_extras_count(index: Path, tmp_path: Path):
    make_wheel(
        index,
        "marked",
        'here; sys_platform == "emscripten" and python_version >= "3.14"',
        'not-here; platform_system == "Linux"',
        'address @ http://127.0.0.1:9/x.tar.gz ; sys_platform == "win32"',
        'further; extra == "more"',
    )
    for name in ("here", "further"):
        make_wheel(index, name)
    assert names_for(index, tmp_path, "marked") == ["here-1.0", "marked-1.0"]
    more = ["further-1.0", "here-1.0", "marked-1.0"]
    assert names_for(index, tmp_path, "marked[more]") == more


def test_versions_that_go_together_are_found(index: Path, tmp_path: Path):
    for version in ("1.0", "2.0", "3.0"):
        make_wheel(index, "shared", *(["only-of-3"] if version == "3.0" else []), version=version)
    make_wheel(index, "one", "shared>=2")
    make_wheel(index, "two", "deeper")
    make_wheel(index, "deeper", "shared<3", "one")
    found = ["deeper-1.0", "one-1.0", "shared-2.0", "two-1.0"]
    assert names_for(index, tmp_path, "two", "one") == found
    make_wheel(index, "three", "shared==1.0")
    with pytest.raises(
        ExecutorStartError, match="No matching distribution found for shared"
    ) as bad:
        names_for(index, tmp_path, "one", "three")
    assert "is asked for by one-1.0-py3-none-any.whl, three-1.0-py3-none-any.whl" in str(bad.value)


@pytest.mark.parametrize("need", ["x; python_version ~= '3'", "x; platform_machine ~= 'x'", "\xfc"])
def test_strange_requirement_of_a_wheel_is_named(index: Path, tmp_path: Path, need: str):
    make_wheel(index, "strange", need)
    with pytest.raises(ExecutorStartError, match="strange"):
        names_for(index, tmp_path, "strange")


def test_file_that_is_not_a_wheel_is_named(index: Path, tmp_path: Path):
    (index / "broken-1.0-py3-none-any.whl").write_bytes(b"not a zip")
    with pytest.raises(ExecutorStartError, match=r"broken-1\.0-py3-none-any\.whl"):
        names_for(index, tmp_path, "broken")


def test_requirement_that_is_an_option_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="is not a requirement"):
        WasmExecutor(["--index-url=http://127.0.0.1"], cache_dir=tmp_path)


def test_pip_that_does_not_answer_is_given_up(index: Path, tmp_path: Path, monkeypatch):
    def expired(*arguments, **options):
        raise subprocess.TimeoutExpired("pip", options["seconds"])

    monkeypatch.setattr(wheels, "run_program", expired)
    with pytest.raises(ExecutorStartError, match=r"pip could not fetch slow: .*0\.5 seconds"):
        fetched(tmp_path / "cache", "slow", seconds=0.5)


def test_lines_before_what_takes_long_go_to_the_logger(index: Path, tmp_path: Path, caplog):
    make_wheel(index, "noted")
    logger = AgentLogger(level=LogLevel.INFO, console=Console(file=io.StringIO(), width=200))
    line = "WasmExecutor: fetching wheels for noted with pip, once"
    with WasmExecutor(["noted"], logger, cache_dir=tmp_path / "first"):
        assert line in logger.console.file.getvalue()
    with caplog.at_level("INFO", "smolagents_fork"):
        WasmExecutor(["noted"], cache_dir=tmp_path / "second").cleanup()
    assert line in caplog.messages

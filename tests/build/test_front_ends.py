"""Every front end builds the same bytes, and the wheel installs and works."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from whole_contract import WHOLE

from buildsys import lock as lockfile
from buildsys.metadata import ADDED_DEPENDENCIES, ADDED_EXTRAS, ADDED_SCRIPTS
from tools.command import run as run_command
from tools.errors import CommandError
from tools.paths import ROOT, Project
from tools.rebase.trial import copy_checkout
from tools.upstream.fetch import unpack_sdist
from tools.uv import installer_settings

pytestmark = [pytest.mark.broad, pytest.mark.network, pytest.mark.slow]

# Seconds for one build or install, with a cold cache behind a slow proxy.
TIMEOUT_SECONDS = 1200


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    variables = {**os.environ, **environment}
    return run_command(command, timeout_seconds=TIMEOUT_SECONDS, cwd=cwd, env=variables)


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


UV = (sys.executable, "-m", "uv")
#: Half of pip's time is bytecode of the packages that a build needs.
PIP_SETTINGS = {"PIP_COMPILE": "0"}
#: PyPA's front end. Its environments come from uv, which takes a tenth of pip's time.
BUILD = (sys.executable, "-m", "build", "--installer", "uv")


@functools.cache
def uv_settings() -> dict[str, str]:
    """Return what pip is told and uv is not: where releases are, and certificates."""
    return installer_settings(run(sys.executable, "-m", "pip", "config", "list"), os.environ)


def uv_wheel(source: Path, out: Path) -> Path:
    command = ("-m", "uv", "build", "-q", "--wheel", str(source), "--out-dir", str(out))
    run(sys.executable, *command, **uv_settings())
    return only(out, "*.whl")


def git_wheel(source: Path, out: Path) -> Path:
    """Build like ``pip install git+...``: pip clones a repository and builds in its copy."""
    repository = out / "repository"
    shutil.copytree(source, repository)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@t.invalid")
    run(*git, "init", "-q", cwd=repository)
    run(*git, "add", "-A", cwd=repository)
    run(*git, "commit", "-q", "-m", "all", cwd=repository)
    run(
        sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", f"git+file://{repository}",
        "-w", str(out), **PIP_SETTINGS,
    )  # fmt: skip
    return only(out, "*.whl")


def build_both(source: Path, out: Path) -> Path:
    """Build like ``python -m build``: the wheel is built from the source distribution."""
    run(*BUILD, str(source), "--outdir", str(out), **uv_settings())
    return only(out, "*.whl")


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what git takes of the checkout, as in a clone."""
    copy = tmp_path_factory.mktemp("clone") / "fork"
    copy_checkout(Project(), copy)
    return copy


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the wheel that uv builds."""
    return uv_wheel(checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    build_both(checkout, out)
    return only(out, "*.tar.gz")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_pip_gives_the_same_wheel_from_a_repository(checkout, wheel, tmp_path):
    """``make dev`` and with it every run builds with pip, too, from the folder."""
    other = git_wheel(checkout, tmp_path)
    assert (other.name, digest(other)) == (wheel.name, digest(wheel))


def test_sdist_gives_the_same_wheel(sdist, wheel):
    from_sdist = only(sdist.parent, "*.whl")
    assert (from_sdist.name, digest(from_sdist)) == (wheel.name, digest(wheel))


def test_sdist_gives_the_same_sdist(sdist, tmp_path):
    unpacked = unpack_sdist(sdist, tmp_path)
    run(*BUILD, "--sdist", str(unpacked), "--outdir", str(tmp_path / "out"), **uv_settings())
    assert digest(only(tmp_path / "out", "*.tar.gz")) == digest(sdist)


def test_time_zone_umask_modes_and_folder_do_not_matter(checkout, wheel, tmp_path):
    elsewhere = tmp_path / "a folder with blanks"
    shutil.copytree(checkout, elsewhere)
    for path in elsewhere.rglob("*"):
        path.chmod(0o777)
    build = f"'{sys.executable}' -m uv build -q --wheel . --out-dir '{tmp_path / 'out'}'"
    habits = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    run("sh", "-c", f"umask 077 && {build}", cwd=elsewhere, **habits, **uv_settings())
    assert digest(only(tmp_path / "out", "*.whl")) == digest(wheel)


def test_sdist_contains_no_line_of_upstreams_package(sdist):
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert not [name for name in names if name.startswith("smolagents/")]
    assert {"upstream.lock", "patches/series", "buildsys/backend.py", "LICENSE"} <= set(names)


def test_wheel_contains_both_packages_licence_and_notice(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = f"{wheel.name.split('-py3')[0]}.dist-info"
        lock = lockfile.load(ROOT / "upstream.lock")
        tops = {name.split("/")[0] for name in names}
        assert tops == {"smolagents", "smolagents-stubs", "smolagents_fork", info}
        assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= set(names)
        scripts = archive.read(f"{info}/entry_points.txt").decode()
        metadata = archive.read(f"{info}/METADATA").decode()
    for name, target in {**lock.scripts, **ADDED_SCRIPTS}.items():
        assert f"{name} = {target}" in scripts
    for extra in (*lock.extras, *ADDED_EXTRAS):
        assert f"Provides-Extra: {extra}\n" in metadata
    for requirement in (*lock.dependencies, *ADDED_DEPENDENCIES):
        assert f"Requires-Dist: {requirement}\n" in metadata
    found = {Requirement(text) for text in re.findall(r"(?m)^Requires-Dist: (.+)$", metadata)}
    for extra, added in ADDED_EXTRAS.items():
        for requirement in (*lock.extras.get(extra, ()), *added):
            assert Requirement(f"{requirement}; extra == '{extra}'") in found


def test_metadata_are_of_a_version_that_uploaders_take_and_name_upstream(wheel, sdist):
    info = f"{wheel.name.split('-py3')[0]}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        of_wheel = archive.read(f"{info}/METADATA").decode()
    with tarfile.open(sdist) as archive:
        file = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert file is not None
        of_sdist = file.read().decode()
    for metadata in (of_wheel, of_sdist):
        assert metadata.startswith("Metadata-Version: 2.4\n")
        assert re.search(r"(?m)^Project-URL: Upstream, https://", metadata)


def test_quick_tests_begin_in_an_unpacked_source_distribution(sdist, tmp_path):
    run("tar", "-xzf", str(sdist), "-C", str(tmp_path))
    folder = only(tmp_path, "*")
    assert {"Makefile", "requirements-dev.txt"} <= {path.name for path in folder.iterdir()}
    tests = ("tests/unit/test_deadline.py", "tests/unit/test_benchmarks.py")
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=folder)


def test_failed_build_leaves_nothing_behind(checkout, tmp_path):
    project = tmp_path / "damaged"
    shutil.copytree(checkout, project)
    patch = project / "patches" / "executor-class.patch"
    patch.write_bytes(patch.read_bytes().replace(b"     def __enter__", b"     def __entry__"))
    there = {path for path in project.rglob("*") if "__pycache__" not in str(path)}
    before = sorted(path.relative_to(project) for path in there)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    message = r"patches/executor-class\.patch:.* does not match at line"
    with pytest.raises(CommandError, match=message):
        run(
            *BUILD, "--wheel", ".", "--outdir", str(tmp_path / "out"),
            cwd=project, TMPDIR=str(scratch), **uv_settings(),
        )  # fmt: skip
    assert not list((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else True
    assert not list(scratch.glob("smolagents-fork-*"))
    left = {path for path in project.rglob("*") if "__pycache__" not in str(path)}
    assert sorted(path.relative_to(project) for path in left) == before


# Installed


def python_of(folder: Path) -> Callable[..., str]:
    """Return a function that runs the Python of an environment."""

    def call(*arguments: str, **environment: str) -> str:
        # Away from the checkout, whose smolagents_fork would be imported from the folder.
        return run(str(folder / "bin" / "python"), *arguments, cwd=folder, **environment)

    return call


def uv_environment(folder: Path, *install: str) -> Callable[..., str]:
    """An environment that uv makes and installs into."""
    run(*UV, "venv", "-q", str(folder), "--python", sys.executable)
    uv_install(folder, *install)
    return python_of(folder)


def uv_install(folder: Path, *packages: str) -> None:
    """Install into an environment, as pip would in ten times the time."""
    python = str(folder / "bin" / "python")
    run(*UV, "pip", "install", "-q", "--python", python, *packages, **uv_settings())


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Install the wheel in an environment with packages that require ``smolagents``."""
    folder = tmp_path_factory.mktemp("installed")
    call = uv_environment(folder, str(wheel))
    uv_install(folder, "openinference-instrumentation-smolagents", "mcpadapt[smolagents]")
    return call


def test_fork_stays_beside_packages_that_require_smolagents(installed, wheel):
    python = installed("-c", "import sys; print(sys.executable)").strip()
    pip = (sys.executable, "-m", "pip", "--python", python)
    assert "No broken requirements found" in run(*pip, "check")
    listed = json.loads(run(*pip, "list", "--format", "json"))
    versions = {entry["name"]: entry["version"] for entry in listed}
    assert versions["smolagents"] == wheel.name.split("-")[1]


def test_every_public_name_of_upstream_imports_as_before(installed, pristine_site):
    """The names come from every module of upstream's release."""
    listing = (
        "import importlib, json, pkgutil, smolagents\n"
        "names = {}\n"
        "for m in ['smolagents', *(f'smolagents.{i.name}' for i in"
        " pkgutil.iter_modules(smolagents.__path__))]:\n"
        "    try:\n"
        "        module = importlib.import_module(m)\n"
        "    except (ImportError, SyntaxError):\n"
        "        continue\n"
        "    names[m] = sorted(n for n in dir(module) if n[:2] != '__' and hasattr(module, n))\n"
        "print(smolagents.__version__)\n"
        "print(json.dumps(names))\n"
    )
    # Without bytecode: other tests copy the same release.
    version, names = installed("-B", "-c", listing, PYTHONPATH=str(pristine_site)).splitlines()[-2:]
    assert version == lockfile.load(ROOT / "upstream.lock").version
    before = json.loads(names)
    after = json.loads(installed("-c", listing).splitlines()[-1])
    before.pop("smolagents.tmp", None)
    missing = {
        module: sorted(set(names) - set(after.get(module, ())) - {"tmp"})
        for module, names in before.items()
    }
    assert len(before) > 15
    assert {module: names for module, names in missing.items() if names} == {}


def test_uv_installs_from_the_tree(checkout, wheel, tmp_path):
    folder = tmp_path / "environment"
    uv_environment(folder, "--no-deps", str(checkout))
    version = wheel.name.split("-")[1]
    assert list(folder.glob(f"lib/python*/site-packages/smolagents-{version}.dist-info"))
    assert list(folder.glob("lib/python*/site-packages/smolagents/agents.py"))


def test_console_scripts_answer(installed):
    for name in lockfile.load(ROOT / "upstream.lock").scripts:
        script = installed("-c", f"import shutil, sys; print(shutil.which({name!r}, path="
                           "__import__('os').path.dirname(sys.executable)))").strip()  # fmt: skip
        assert Path(script).is_file()
    assert "usage" in run(str(Path(script).with_name("smolagent")), "--help").lower()


def test_agent_of_the_installed_wheel_runs(installed):
    printed = installed(
        "-c",
        "from smolagents import CodeAgent, Model, ChatMessage, LocalPythonExecutor\n"
        "class M(Model):\n"
        "    def generate(self, *a, **k):\n"
        "        return ChatMessage(role='assistant', content='<code>final_answer(6*7)</code>')\n"
        "a = CodeAgent(tools=[], model=M(), executor_class=LocalPythonExecutor,"
        " verbosity_level=0)\n"
        "print(a.run('x'))",
    )
    assert printed.split()[-1] == "42"


def test_image_definitions_are_in_the_wheel(installed):
    printed = installed(
        "-c",
        "from smolagents_fork.sandboxes.docker.images.image_plans import image_folder\n"
        "folder = image_folder('jupyter')\n"
        "print(folder); print((folder / 'install.sh').is_file())",
    )
    assert "_images" in printed.splitlines()[0]
    assert printed.splitlines()[1] == "True"


def test_editable_install_is_live(checkout, tmp_path):
    project = tmp_path / "project"
    shutil.copytree(checkout, project)
    call = uv_environment(tmp_path / "environment", "-e", str(project))
    where = call(
        "-c", "import smolagents, smolagents_fork; print(smolagents.__file__);"
        "print(smolagents_fork.__file__)"
    ).split()  # fmt: skip
    assert "site-packages" in where[0]
    assert Path(where[1]) == project / "smolagents_fork" / "__init__.py"
    (project / "smolagents_fork" / "added.py").write_text("VALUE = 7\n")
    assert call("-c", "import smolagents_fork.added as a; print(a.VALUE)").strip() == "7"
    # Nothing else of the checkout becomes importable.
    assert (
        call("-c", "import importlib.util as u; print(u.find_spec('buildsys'))").strip() == "None"
    )

"""Projects, made-up releases and the command itself, for the tests of the series and the rebase.

Real parts: pip and uv take the releases from a folder (``PIP_FIND_LINKS``, ``PIP_NO_INDEX``), git
keeps the commits.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from private_index import write_wheel_of

from buildsys import lock as lockfile
from buildsys.version import write_version_file
from tools.command import run
from tools.git import Git, environment
from tools.paths import CACHE, ROOT, Project
from tools.rebase.__main__ import main
from tools.rebase.folder import Folder
from tools.rebase.trial import copy_checkout
from tools.upstream.relock import lock_of_release

#: The release that the fork is built from.
LOCKED = lockfile.load(ROOT / "upstream.lock").version

EntryPoints = Mapping[str, Mapping[str, str]]
TINY_ENTRY_POINTS = {"console_scripts": {"smolagent": "smolagents.console:main"}}
LICENCE = "# Copyright nobody.\n#\n# See the licence for the\n# limitations under the License.\n"


def publish(
    folder: Path,
    version: str,
    tree: Mapping[str, bytes],
    entry_points: EntryPoints = TINY_ENTRY_POINTS,
) -> tuple[Path, Path]:
    """Make a wheel and a source distribution of a release that nobody has made.

    Args:
        folder: where pip will look for them.
        version: of the release.
        tree: the package's files by path, each below ``smolagents/``.
        entry_points: by group, name to ``module:object``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    info = f"smolagents-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: smolagents\nVersion: {version}\n"
    metadata += "Requires-Python: >=3.10\n"
    described = {
        f"{info}/METADATA": metadata,
        f"{info}/entry_points.txt": _entry_points(entry_points),
    }
    wheel = write_wheel_of(folder, "smolagents", version, {**tree, **described})
    return wheel, _publish_sdist(folder, version, metadata)


def _publish_sdist(folder: Path, version: str, metadata: str) -> Path:
    """pip asks a source distribution for its metadata, so this one answers without any builder."""
    backend = f"""
        import pathlib
        def prepare_metadata_for_build_wheel(folder, config_settings=None):
            target = pathlib.Path(folder) / "smolagents-{version}.dist-info"
            target.mkdir()
            (target / "METADATA").write_text({metadata!r})
            return target.name
        def build_wheel(*arguments):
            raise NotImplementedError
        """
    project = '[build-system]\nrequires = []\nbuild-backend = "made"\nbackend-path = ["."]\n'
    files = {
        "PKG-INFO": metadata,
        "made.py": textwrap.dedent(backend),
        "pyproject.toml": project,
        "tests/test_nothing.py": "",
    }
    sdist = folder / f"smolagents-{version}.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"smolagents-{version}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return sdist


def _entry_points(groups: EntryPoints) -> str:
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items()
    )


def next_release(
    links: Path, tree: dict[str, bytes], entry_points: EntryPoints | None = None
) -> str:
    """Publish the release after the locked one.

    Args:
        links: where pip will look for it.
        tree: the locked release's package with edits.
        entry_points: beside the locked release's, by group.

    Returns:
        its version.
    """
    major, minor, _ = LOCKED.split(".")
    version = f"{major}.{int(minor) + 1}.0"
    init = tree["smolagents/__init__.py"]
    old, new = f'__version__ = "{LOCKED}"'.encode(), f'__version__ = "{version}"'.encode()
    assert init.count(old) == 1
    tree = {**tree, "smolagents/__init__.py": init.replace(old, new)}
    locked = lockfile.load(ROOT / "upstream.lock").entry_points
    publish(links, version, tree, {**locked, **(entry_points or {})})
    return version


def checkout_copy(target: Path) -> Project:
    """A copy of this checkout, without its history, with the downloads it has."""
    copy_checkout(Project(ROOT), target)
    project = Project(target)
    if CACHE.is_dir():
        shutil.copytree(CACHE, project.cache)
    return project


# A release of three modules: enough for a series, quick to build.
_AGENTS = [
    *LICENCE.splitlines(),
    "",
    "def greeting(name):",
    '    """Say hello."""',
    '    words = "hello"',
    "    return words + name",
    "",
    "",
    *(f"FIRST_{number} = {number}" for number in range(12)),
    "",
    "",
    "def total(numbers):",
    "    result = 0",
    "    for number in numbers:",
    "        result = result + number",
    "    return result",
    "",
    "",
    *(f"SECOND_{number} = {number}" for number in range(12)),
    "",
    "",
    "def close(thing):",
    "    thing.close()",
    "    return None",
]


def tiny_tree(version: str, *edits: tuple[str, str]) -> dict[str, bytes]:
    """A made-up release's package: upstream's shape, ten lines of content.

    Args:
        version: of the release.
        edits: texts of ``agents.py`` and what replaces them; each must be there once.
    """
    agents = "".join(f"{line}\n" for line in _AGENTS)
    for old, new in edits:
        assert agents.count(old) == 1, (old, agents.count(old))
        agents = agents.replace(old, new)
    init = (
        f'{LICENCE}\n__version__ = "{version}"\n\nfrom .agents import *\nfrom .console import *\n'
    )
    return {
        "smolagents/__init__.py": init.encode(),
        "smolagents/agents.py": agents.encode(),
        "smolagents/console.py": f"{LICENCE}\n\ndef main():\n    return 0\n".encode(),
    }


# The series on it: (file name, text of agents.py, replacement, test function's body).
TINY_SERIES = (
    (
        "polite-greeting.patch",
        '    words = "hello"\n',
        '    from smolagents_fork import word\n\n    words = word("hello")\n',
        'assert smolagents.greeting("a") == "hello, a"',
    ),
    (
        "total-of-none.patch",
        "    for number in numbers:\n",
        "    for number in numbers or ():\n",
        "assert smolagents.total(None) == 0",
    ),
    (
        "close-twice.patch",
        "    thing.close()\n",
        "    if not thing.closed:\n        thing.close()\n",
        "assert smolagents.close(__import__('io').StringIO()) is None",
    ),
)


def tiny_project(target: Path) -> Project:
    """The project's build, on a made-up release 9.0.0, the series still empty."""
    project = Project(target)
    target.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "buildsys", target / "buildsys", ignore=ignored)
    files = ".gitignore LICENSE NOTICE README.md pyproject.toml requirements-dev.in"
    for name in files.split():
        shutil.copy(ROOT / name, target)
    (target / "docker").mkdir()
    (target / "docker" / "README.md").write_text("nothing\n")
    shutil.copytree(ROOT / "stubs", target / "stubs")
    fork = target / "smolagents_fork"
    fork.mkdir()
    shutil.copy(ROOT / "smolagents_fork" / "_version.py", fork)
    write_version_file(project.version_file, "9.0.0", 4)
    (fork / "__init__.py").write_text('def word(text):\n    return f"{text}, "\n')
    project.changelog.write_text("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a thing\n")
    tests = target / "tests" / "contract"
    tests.mkdir(parents=True)
    bodies = "\n\n".join(
        f"def test_{name.split('.')[0].replace('-', '_')}():\n    {body}"
        for name, _, _, body in TINY_SERIES
    )
    (tests / "test_tiny.py").write_text(f"import smolagents\n\n\n{bodies}\n")
    hosted = target / "tests" / "integration" / "hosted"
    hosted.mkdir(parents=True)
    (hosted / "conftest.py").touch()
    project.patches.mkdir()
    (project.patches / "prune.list").write_text("# nothing yet\n")
    (project.patches / "series").write_text("# in order\n")
    wheel, sdist = publish(project.cache, "9.0.0", tiny_tree("9.0.0"))
    lockfile.save(project.lock, lock_of_release("9.0.0", wheel, sdist))
    return project


def tiny_message(name: str, **trailers: str) -> str:
    """A commit message that the lint accepts."""
    test = f"tests/contract/test_tiny.py::test_{name.split('.')[0].replace('-', '_')}"
    lines = {
        "Patch-Name": name,
        "Forwarded": "no",
        "Retire-When": "upstream does the same by itself",
        "Test": test,
        **trailers,
    }
    text = "\n".join(f"{key.replace('_', '-')}: {value}" for key, value in lines.items() if value)
    reason = "The reason of this patch is that a test has to have something to carry along."
    return f"Patch {name.split('.')[0]}\n\n{reason}\n\n{text}\n"


def commit_edit(git: Git, path: str, old: str, new: str, message: str) -> None:
    """Replace a text that is in a file once, and commit, as a developer would."""
    file = git.folder / path
    text = file.read_bytes().decode()
    assert text.count(old) == 1, (old, text.count(old))
    file.write_bytes(text.replace(old, new).encode())
    git.run("commit", "--all", "--quiet", "-m", message)


def commit_tiny_series(git: Git) -> None:
    """Commit :data:`TINY_SERIES` in an opened series repository."""
    for name, old, new, _ in TINY_SERIES:
        commit_edit(git, "smolagents/agents.py", old, new, tiny_message(name))


@dataclass
class Rebase:
    """The command in a project."""

    project: Project
    links: Path
    index: bool = False
    borrow: bool = True
    contract: bool = False
    regression: bool = False

    @property
    def folder(self) -> Folder:
        return Folder(self.project)

    def environment(self) -> dict[str, str]:
        links = f"{self.links} {self.project.cache} {build_tools()}"
        found = {**os.environ, "PIP_FIND_LINKS": links, "PIP_NO_INDEX": "1"}
        if self.borrow:
            found["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they cost a second each time
        if self.index:
            del found["PIP_NO_INDEX"]
        return found

    def arguments(self, *arguments: str) -> list[str]:
        options = [] if self.regression else ["--skip-regression"]
        options += ["--borrow-packages"] if self.borrow else []
        options += [] if self.contract else ["--skip-contract"]
        return [*arguments, *(options if arguments[0] in {"start", "check"} else [])]

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """Run a command; returns its exit status and all it has said."""
        output = io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment(), clear=True),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            status = main(self.arguments(*arguments), self.project.root)
        return status, output.getvalue()

    def publish(self, version: str, tree: Mapping[str, bytes]) -> None:
        """Make a release that has been downloaded already."""
        publish(self.project.cache, version, tree)

    def copy(self, target: Path) -> Rebase:
        """The same in a copy of the project."""
        copied = Path(shutil.copytree(self.project.root, target, symlinks=True))
        return Rebase(Project(copied), self.links)

    @property
    def agents(self) -> Path:
        """The file of the scratch repository that every patch changes."""
        return self.folder.git.folder / "smolagents" / "agents.py"

    def git(self, *arguments: str) -> str:
        """A person's git in the scratch repository."""
        own = environment() | {"GIT_CEILING_DIRECTORIES": str(self.project.root)}
        folder = self.folder.git.folder
        return run(["git", *arguments], timeout_seconds=300, cwd=folder, env=own)


def build_tools() -> Path:
    """The build backend's wheels, for builds that see no index but a folder of releases."""
    folder = CACHE / "hatchling-1.33.0"
    if not folder.exists():
        draft = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
        subprocess.run([*command, "--dest", draft, "hatchling==1.33.0"], check=True, timeout=900)
        try:
            draft.rename(folder)
        except OSError:  # another worker was first
            shutil.rmtree(draft)
    return folder


def snapshot(project: Project) -> dict[str, bytes]:
    """Everything in the project but scratch: what a rebase that has not ended must not touch."""
    kept: dict[str, bytes] = {}
    for path in sorted(project.root.rglob("*")):
        name = path.relative_to(project.root)
        scratch = name.parts[0] in {"build", ".rebase", "reports", ".git"}
        if path.is_file() and not scratch and "__pycache__" not in name.parts:
            kept[name.as_posix()] = path.read_bytes()
    return kept


def all_files(root: Path) -> dict[str, bytes]:
    """Every file below a folder, compiled Python left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }

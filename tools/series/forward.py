"""The pull requests for upstream in ``docs/forward``: applied to the release and tested there.

Each file is one commit for upstream's repository, with a test module of its own. It applies to the
locked release's source distribution, whose layout is the repository's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildsys.errors import BuildError
from buildsys.patchfile import Patch, apply_patch, parse_patch
from buildsys.tree import write_tree
from tools.command import clean_environment
from tools.errors import ToolError

__all__ = ["check_forwarded", "load_forwarded", "sources_of"]

_SECONDS = 300


def load_forwarded(folder: Path) -> list[Patch]:
    """Read every pull request of a folder.

    Raises:
        BuildError: a file is not a patch.
    """
    return [parse_patch(path.name, path.read_bytes()) for path in sorted(folder.glob("*.patch"))]


def sources_of(release: Path) -> dict[str, bytes]:
    """Read the package of an unpacked source distribution, by path from its top folder."""
    files = sorted(path for path in (release / "src").rglob("*") if path.is_file())
    return {path.relative_to(release).as_posix(): path.read_bytes() for path in files}


def check_forwarded(
    patches: Sequence[Patch], sources: Mapping[str, bytes], scratch: Path
) -> list[str]:
    """Find what stands against sending the pull requests.

    Args:
        patches: the pull requests.
        sources: of the release, from :func:`sources_of`.
        scratch: an empty folder.

    Returns:
        One line for each that imports the fork, does not apply, brings no test, fails its tests, or
        brings tests that pass without it.

    Raises:
        ToolError: pytest could not run.
    """
    found: list[str] = []
    sound: dict[str, list[str]] = {}
    tests = dict(sources)
    for patch in patches:
        modules = sorted(path for path in patch.paths if path.startswith("tests/"))
        try:
            tree = apply_patch(patch, dict(sources))
        except BuildError as error:
            found.append(f"{patch.name} does not apply: {error}")
            continue
        if any(b"smolagents_fork" in tree[path] for path in patch.paths):
            found.append(f"{patch.name} names the fork")
        elif not modules:
            found.append(f"{patch.name} brings no test")
        elif failed := _failed(tree, scratch / Path(patch.name).stem, modules):
            found.append(f"{patch.name}: its tests fail: {', '.join(failed)}")
        else:
            sound[patch.name] = modules
            tests.update((path, tree[path]) for path in modules)
    needing = _failed(
        tests, scratch / "without", [path for modules in sound.values() for path in modules]
    )
    for name, modules in sound.items():
        if not needing.intersection(modules):
            found.append(f"{name}: its tests pass without it")
    return found


def _failed(tree: Mapping[str, bytes], folder: Path, modules: Sequence[str]) -> set[str]:
    """Run test modules against a tree that is written into a folder; gives those that failed."""
    if not modules:
        return set()
    write_tree(tree, folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider",
         "-c", os.devnull, "--rootdir", str(folder), *modules],
        cwd=folder,
        env={
            **clean_environment(),
            "PYTHONPATH": str(folder / "src"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise ToolError(f"pytest could not run {', '.join(modules)}: {done.stdout}{done.stderr}")
    return {one for one in modules if f"\nFAILED {one}" in done.stdout}

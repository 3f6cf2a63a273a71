"""Whether the series at rest is what exporting it gives: byte for byte."""

from __future__ import annotations

import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.patchfile import apply_patch
from buildsys.series import load_prune_list, load_series, series_names
from tools.paths import Project
from tools.series.export import exported, series_text
from tools.series.repository import BASE, SeriesError, create, read_tree, release_base

__all__ = ["Difference", "differences", "patch_bytes"]


@dataclass(frozen=True)
class Difference:
    """A file of the series that is not as exported.

    Attributes:
        path: the file, relative to the checkout.
        correct: what it ought to be.
        diff: from what it is to what it ought to be, as text.
    """

    path: str
    correct: bytes
    diff: str


def patch_bytes(project: Project) -> dict[str, bytes]:
    """Every patch's bytes by file name, in the series' order.

    Raises:
        BuildError: see :func:`buildsys.series.series_names`.
    """
    return {name: (project.patches / name).read_bytes() for name in series_names(project.patches)}


def differences(project: Project) -> list[Difference]:
    """Commit the series in a scratch repository, export it again, and compare.

    Args:
        project: the checkout; nothing in it is changed.

    Raises:
        SeriesError, BuildError: the series does not apply, by git or by the strict applier.
        FetchError: the release is not to be had.
    """
    lock = lockfile.load(project.lock)
    patches = patch_bytes(project)
    tree = release_base(lock, load_prune_list(project.patches), project.cache)
    with tempfile.TemporaryDirectory() as scratch:
        git = create(Path(scratch) / "series", tree, lock.version, patches)
        again = exported(git, BASE)
        by_git = read_tree(git, "HEAD")
    series = project.patches / "series"
    old = {**patches, "series": series.read_bytes()}
    new = {**again, "series": series_text(series.read_text("utf-8"), again)}
    found = [
        Difference(f"patches/{name}", data, _diff(name, old.get(name, b""), data))
        for name, data in new.items()
        if old.get(name) != data
    ]
    if not found:
        strict = tree
        for patch in load_series(project.patches):
            strict = apply_patch(patch, strict)
        if strict != by_git:
            paths = sorted({name for name, _ in strict.items() ^ by_git.items()})
            raise SeriesError(f"git and the strict applier disagree about {', '.join(paths)}")
    return found


def _diff(name: str, old: bytes, new: bytes) -> str:
    lines = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(),
        new.decode("utf-8", "replace").splitlines(),
        f"a/patches/{name}",
        f"b/patches/{name} (as exported)",
        lineterm="",
    )
    text = "\n".join(lines)
    return text or f"patches/{name}: differs in line ends, or in the last line's"

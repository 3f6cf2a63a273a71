"""The files that a finished rebase writes, computed once for the trial copy and the checkout."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.series import load_prune_list, series_names
from buildsys.version import read_version_file, write_version_file
from tools.changelog import with_release
from tools.rebase.folder import Folder, Plan
from tools.rebase.releases import Release, pruned_release
from tools.rebase.replay import outcomes, upstream_tag
from tools.series.repository import export, series_files
from tools.upstream.fetch import fetch_sdist, fetch_wheel
from tools.upstream.relock import lock_of_release
from tools.version_pages import restate_pages

__all__ = ["Result", "result_of"]


class Result(NamedTuple):
    """Result of a rebase.

    Attributes:
        files: new bytes of every file it writes, by path; None for a patch that goes.
        kept: patches of the new series, in order.
        dropped: patches that are gone.
        notes: sentences for the changelog and the report.
        added: files of the release that the one before did not have.
    """

    files: dict[str, bytes | None]
    kept: list[str]
    dropped: list[str]
    notes: list[str]
    added: list[str]


def result_of(folder: Folder, plan: Plan) -> Result:
    """Export the series at HEAD of the scratch repository, and all that goes with it.

    Raises:
        SeriesError, BuildError: the commits cannot be exported as a series.
        FetchError: the release is not to be had.
    """
    project = folder.project
    release = pruned_release(plan.new, load_prune_list(project.patches), project.cache)
    old = pruned_release(plan.old, load_prune_list(project.patches), project.cache)
    patches = export(folder.git, upstream_tag(plan.new))
    dropped = [name for name in series_names(project.patches) if name not in patches]
    notes = [
        *(f"`{name}` is dropped: {_why_dropped(folder, plan, name)}." for name in dropped),
        *(f"`{path}` leaves prune.list: not in {plan.new}." for path in release.dropped),
    ]
    files = series_files(project.patches, patches)
    prune = (project.patches / "prune.list").read_text("utf-8")
    files["patches/prune.list"] = _prune_list(prune, release).encode()
    wheel, sdist = fetch_wheel(plan.new, project.cache), fetch_sdist(plan.new, project.cache)
    before, revision = read_version_file(project.version_file)
    # The present revision stays when the series is on the release already.
    revision = revision if before == plan.new else 1
    with tempfile.TemporaryDirectory() as scratch:
        lock, version = Path(scratch) / "lock", Path(scratch) / "version"
        lockfile.save(lock, lock_of_release(plan.new, wheel, sdist))
        version.write_bytes(project.version_file.read_bytes())
        write_version_file(version, plan.new, revision)
        files["upstream.lock"] = lock.read_bytes()
        files["smolagents_fork/_version.py"] = version.read_bytes()
    forked = f"{plan.new}+fork.{revision}"
    changelog = project.changelog.read_text("utf-8")
    bullets = [f"Built from smolagents {plan.new}; until now from {plan.old}.", *notes]
    files["CHANGELOG.md"] = with_release(changelog, forked, bullets).encode()
    files |= restate_pages(project.root, plan.old, forked)
    added = sorted(release.tree.keys() - old.tree.keys())
    return Result(files, list(patches), dropped, notes, added)


def _prune_list(text: str, release: Release) -> str:
    lines = [
        line for line in text.splitlines() if line.split("#")[0].strip() not in release.dropped
    ]
    return "".join(f"{line}\n" for line in lines)


def _why_dropped(folder: Folder, plan: Plan, name: str) -> str:
    words = {"in upstream": "upstream {} contains it", "left out": "left out by hand on {}"}
    for version, row in outcomes(folder.git, plan).items():
        if row.get(name) in words:
            return words[row[name]].format(version)
    return "removed by hand"

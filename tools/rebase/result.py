"""The files that a finished rebase writes, computed once for the trial copy and the checkout."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from buildsys.version import read_version_file, write_version_file
from tools.changelog import with_release
from tools.paths import Project
from tools.rebase.bases import release_base
from tools.rebase.replay import Replay
from tools.restating import restated_pages
from tools.series.repository import exported, series_files
from tools.upstream.fetch import fetch_sdist, fetch_wheel
from tools.upstream.relock import lock_of_release

__all__ = ["Result", "result_of"]


class Result(NamedTuple):
    """Result of a rebase.

    Attributes:
        files: new bytes of every file it writes, by path; None for a patch that goes.
        kept: patches of the new series, in order.
        dropped: patches that are gone.
        notes: sentences for the changelog and the report.
    """

    files: dict[str, bytes | None]
    kept: list[str]
    dropped: list[str]
    notes: list[str]


def result_of(project: Project, replay: Replay) -> Result:
    """Export the replayed series and all that goes with it.

    Args:
        project: the checkout; read only.
        replay: the finished replay, with HEAD on the new series.

    Raises:
        SeriesError, BuildError: the commits cannot be exported as a series.
    """
    plan = replay.plan
    release = release_base(plan.new, load_prune_list(project.patches), project.cache)
    patches = exported(replay.git, plan.steps[-1].base)
    files = series_files(project.patches, patches)
    names = [commit.name for commit in replay.series(plan.steps[0])]
    dropped = [name for name in names if name not in patches]
    notes = [
        *(f"`{name}` is dropped: {_why_dropped(replay, name)}." for name in dropped),
        *(f"`{path}` leaves prune.list: not in {plan.new}." for path in release.dropped),
        *(f"`{path}` is new in prune.list: stray in {plan.new}." for path in release.added),
    ]
    prune = (project.patches / "prune.list").read_text("utf-8").splitlines()
    kept = [line for line in prune if line.split("#")[0].strip() not in release.dropped]
    if release.added:
        kept.append(f"# New in {plan.new}, and nothing in the release imports or runs it.")
    files["patches/prune.list"] = "".join(f"{line}\n" for line in [*kept, *release.added]).encode()
    with tempfile.TemporaryDirectory() as folder:
        lock, version = Path(folder) / "lock", Path(folder) / "version"
        wheel, sdist = fetch_wheel(plan.new, project.cache), fetch_sdist(plan.new, project.cache)
        lockfile.save(lock, lock_of_release(plan.new, wheel, sdist))
        before, revision = read_version_file(project.version_file)
        # The present revision stays when only tags were changed for releases.
        revision = revision if before == plan.new else 1
        version.write_bytes(project.version_file.read_bytes())
        write_version_file(version, plan.new, revision)
        files["upstream.lock"] = lock.read_bytes()
        files["smolagents_fork/_version.py"] = version.read_bytes()
    changelog = project.changelog.read_text("utf-8") if project.changelog.exists() else None
    bullets = [f"Built from smolagents {plan.new}; until now from {plan.old}.", *notes]
    forked = f"{plan.new}+fork.{revision}"
    files["CHANGELOG.md"] = with_release(changelog, forked, bullets).encode()
    files |= restated_pages(project.root, forked)
    return Result(files, list(patches), dropped, notes)


def _why_dropped(replay: Replay, name: str) -> str:
    words = {"empty": "upstream {} contains it", "skipped": "dropped by hand on {}"}
    for number, step in enumerate(replay.plan.steps[1:]):
        for pick in replay.picks(number):
            if pick.name == name and pick.outcome in words:
                return words[pick.outcome].format(step.version)
    return "removed by hand"

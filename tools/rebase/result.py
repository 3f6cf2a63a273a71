"""The files that a finished rebase writes, computed once for the trial copy and the checkout."""

from __future__ import annotations

import tempfile
from pathlib import Path

from buildsys.version import read_version_file, write_version_file
from tools.git import Git
from tools.paths import Project
from tools.rebase.changelog import with_release
from tools.rebase.replay import base_ref
from tools.rebase.state import Folder, RebaseError, State
from tools.series.export import exported, series_files
from tools.series.repository import folder_digest

__all__ = ["dropped_names", "fork_revision", "refuse_changed_inputs", "result_files", "why_dropped"]


def refuse_changed_inputs(project: Project, state: State) -> None:
    """Refuse to go on when the series in the checkout is not the one that was replayed.

    Raises:
        RebaseError: it was changed since the start; writing would undo that.
    """
    if folder_digest(project) != state.digest:
        raise RebaseError(
            "patches/ or upstream.lock has been changed in the checkout since the rebase was "
            "started, and finishing would undo that: put the change back, or make rebase-abort "
            "and start again"
        )


def fork_revision(project: Project, state: State) -> int:
    """1 for a new upstream version; the present one when only tags were changed for releases."""
    version, revision = read_version_file(project.version_file)
    return revision if version == state.new else 1


def dropped_names(state: State, kept: list[str]) -> list[str]:
    """Patches that the series had at the start and has no more."""
    known = dict.fromkeys(pick.name for step in state.steps for pick in step.picks)
    return [name for name in known if name not in kept]


def result_files(
    project: Project, folder: Folder, state: State, git: Git
) -> dict[str, bytes | None]:
    """New bytes of every file the rebase writes, by path; None for a patch that goes.

    Raises:
        SeriesError, BuildError: the commits cannot be exported as a series.
    """
    patches = exported(git, base_ref(state.steps[-1]))
    files = series_files(project.patches, patches)
    prune = (project.patches / "prune.list").read_text("utf-8")
    files["patches/prune.list"] = _prune_text(prune, state).encode()
    files["upstream.lock"] = (folder.path / "upstream.lock").read_bytes()
    revision = fork_revision(project, state)
    with tempfile.TemporaryDirectory() as scratch:
        version_file = Path(scratch) / "_version.py"
        version_file.write_bytes(project.version_file.read_bytes())
        write_version_file(version_file, state.new, revision)
        files["smolagents_fork/_version.py"] = version_file.read_bytes()
    old = project.changelog.read_text("utf-8") if project.changelog.exists() else None
    version = f"{state.new}+fork.{revision}"
    text = with_release(old, version, state.date, _bullets(state, list(patches)))
    files["CHANGELOG.md"] = text.encode()
    return files


def _bullets(state: State, kept: list[str]) -> list[str]:
    bullets = [f"Built from smolagents {state.new}; until now from {state.old}."]
    bullets += [
        f"`{name}` is gone from the series: {why_dropped(state, name)}."
        for name in dropped_names(state, kept)
    ]
    bullets += [
        f"`{path}` is no longer pruned: {state.new} does not have it."
        for path in state.prune_dropped
    ]
    bullets += [
        f"`{path}` is pruned: nothing in {state.new} uses it." for path in state.prune_added
    ]
    return bullets


def why_dropped(state: State, name: str) -> str:
    """The reason a patch is gone, as words for a reader."""
    for step in state.steps:
        for pick in step.picks:
            if pick.name == name and pick.outcome == "empty":
                return f"upstream {step.version} contains it"
            if pick.name == name and pick.outcome == "skipped":
                return f"dropped by hand on {step.version}"
    return "removed by hand"


def _prune_text(text: str, state: State) -> str:
    lines = [
        line
        for line in text.splitlines()
        if line.split("#", 1)[0].strip() not in state.prune_dropped
    ]
    if state.prune_added:
        lines.append(f"# New in {state.new}, and nothing in the release imports or runs it.")
        lines += state.prune_added
    return "".join(f"{line}\n" for line in lines)

"""Try the series on revisions that are not released: upstream's main, or open pull requests.

Only the patches are replayed, which takes seconds. A patch that conflicts is left out, and the
next one is tried, so that one run names every patch that needs a person.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.metadata import project_fields
from buildsys.release import PACKAGE
from buildsys.series import load_prune_list
from buildsys.stray import stray_files
from tools.errors import GitError, RebaseError
from tools.git import Git
from tools.paths import Project
from tools.rebase.bases import revision_base
from tools.rebase.conflict import Place, places
from tools.series.repository import BASE, Commit, commit_tree, commits, create
from tools.series.repository import release_base as locked_base

__all__ = ["Drift", "drift_of", "pull_references", "report_text"]

_TARGET = "refs/heads/target"


@dataclass
class Drift:
    """Outcome of the series on one revision.

    Attributes:
        revision: the branch, commit or pull request as asked for.
        commit: the commit's id; empty when it could not be had.
        outcomes: ``clean``, ``empty`` (upstream has the change) or ``conflict`` by patch.
        conflicts: what is unmerged, by patch.
        problem: why the revision could not be tried; empty when it was.
        notes: other findings that a rebase would stop at.
    """

    revision: str
    commit: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, list[Place]] = field(default_factory=dict)
    problem: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Tell whether the revision takes every patch."""
        return not (self.conflicts or self.problem or self.notes)


def drift_of(project: Project, upstream_git: str, revisions: Sequence[str]) -> list[Drift]:
    """Try the series on revisions of upstream's repository; the checkout is not touched.

    Args:
        project: the checkout.
        upstream_git: path or address of upstream's repository.
        revisions: branches, full commit ids or full refs.

    Raises:
        BuildError, FetchError, SeriesError: the series does not apply to its own release.
    """
    prune = load_prune_list(project.patches)
    lock = lockfile.load(project.lock)
    tree = locked_base(lock, prune, project.cache)
    with tempfile.TemporaryDirectory(prefix="drift-") as folder:
        git = create(Path(folder), tree, project, lock.version)
        git.run("update-ref", "refs/tags/series", "HEAD")
        series = commits(git, BASE, "refs/tags/series")
        return [_tried(git, project, series, upstream_git, one, prune) for one in revisions]


def pull_references(upstream_git: str, pulls: Sequence[str]) -> list[str]:
    """Return the refs of pull requests.

    Args:
        upstream_git: path or address of upstream's repository.
        pulls: numbers; the single word ``all`` stands for every one that the repository has.

    Raises:
        RebaseError: a number is not one, or the repository has no such pull request.
    """
    if not pulls:
        return []
    if wrong := [one for one in pulls if one != "all" and not one.isdecimal()]:
        raise RebaseError(f"PULLS={wrong[0]!r}: expected numbers such as 2722,2724, or all")
    with tempfile.TemporaryDirectory() as folder:
        git = Git(Path(folder))
        git.init("empty")
        try:
            listing = git.lines("ls-remote", "--", upstream_git, "refs/pull/*/head")
        except GitError as error:
            raise RebaseError(f"UPSTREAM_GIT={upstream_git}: {error}") from None
    present = sorted(
        (line.split("\t")[1] for line in listing), key=lambda ref: int(ref.split("/")[2])
    )
    if list(pulls) == ["all"]:
        return present
    wanted = [f"refs/pull/{number}/head" for number in pulls]
    if missing := [ref for ref in wanted if ref not in present]:
        raise RebaseError(f"UPSTREAM_GIT={upstream_git}: has no {', '.join(missing)}")
    return wanted


def _tried(
    git: Git,
    project: Project,
    series: Sequence[Commit],
    upstream_git: str,
    revision: str,
    prune: Sequence[str],
) -> Drift:
    drift = Drift(revision)
    try:
        tree = revision_base(revision, revision, prune, upstream_git, git)
    except RebaseError as error:
        drift.problem = str(error)
        return drift
    drift.commit = git.text("rev-parse", "FETCH_HEAD^{commit}")
    drift.notes += _strays(tree, project)
    commit_tree(git, tree, f"smolagents at {revision}", _TARGET)
    _reset(git, _TARGET)
    for commit in series:
        _pick(git, commit, drift)
    return drift


def _strays(tree: dict[str, bytes], project: Project) -> list[str]:
    try:
        found = stray_files(tree, PACKAGE, project_fields(project.root)["scripts"])
    except BuildError as error:
        return [str(error)]
    return [f"{path}: new, and nothing imports or runs it (patches/prune.list)" for path in found]


def _pick(git: Git, commit: Commit, drift: Drift) -> None:
    tip = git.text("rev-parse", "HEAD")
    options = ("--allow-empty", "--keep-redundant-commits", commit.id)
    try:
        git.run("cherry-pick", *options)
    except GitError as error:
        found = list(places(git, commit.id, error.output))
        if not found:
            raise
        drift.outcomes[commit.name] = "conflict"
        drift.conflicts[commit.name] = found
        _reset(git, tip)
    else:
        is_empty = git.succeeds("diff", "--quiet", tip, "HEAD")
        drift.outcomes[commit.name] = "empty" if is_empty else "clean"


def _reset(git: Git, commit: str) -> None:
    git.run("cherry-pick", "--quit", check=False)
    git.run("reset", "--quiet", "--hard", commit)


def report_text(drifts: Sequence[Drift], version: str) -> str:
    """Return the report in Markdown.

    Args:
        drifts: the outcome of each revision.
        version: upstream's version that the series is written on.
    """
    lines = [f"# Drift of the series from smolagents {version}", ""]
    names = list(dict.fromkeys(name for drift in drifts for name in drift.outcomes))
    lines += ["| patch | " + " | ".join(drift.revision for drift in drifts) + " |"]
    lines += ["|---|" + "---|" * len(drifts)]
    for name in names:
        cells = (drift.outcomes.get(name, "not tried") for drift in drifts)
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    for drift in drifts:
        lines += ["", f"## {drift.revision}", "", *_findings(drift)]
    return "\n".join(lines) + "\n"


def _findings(drift: Drift) -> Iterator[str]:
    if drift.problem:
        yield f"**Could not be tried**: {drift.problem}"
        return
    yield f"Commit `{drift.commit}`."
    if drift.is_clean:
        yield "Every patch fits. Tests are not run on unreleased revisions."
    for name, found in drift.conflicts.items():
        yield f"- `{name}` does not fit:"
        yield from (f"  - {place}" for place in found)
    yield from (f"- {note}" for note in drift.notes)

"""Try the series on revisions that are not released: upstream's main, or open pull requests.

Only the patches are replayed, which takes seconds. A patch that conflicts is left out and the next
one is tried, so that one run names every patch that needs a person.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.git import Git
from tools.paths import Project
from tools.rebase.replay import rebase_onto
from tools.series.repository import BASE, BRANCH, commit_tree, commits, create, read_tree
from tools.series.repository import release_base as locked_base

__all__ = ["drift_report"]

_TARGET = "refs/tags/target"


def drift_report(
    project: Project, upstream_git: str, branch: str | None, pulls: Sequence[str]
) -> tuple[bool, str]:
    """Try the series on revisions of upstream's repository; the checkout is not touched.

    Args:
        project: the checkout.
        upstream_git: path or address of upstream's repository.
        branch: a branch or a full commit id; None for pull requests alone.
        pulls: numbers of pull requests; the single word ``all`` for every one there is.

    Returns:
        Whether every revision takes the series, and the report in Markdown.

    Raises:
        GitError: a revision cannot be had.
    """
    lock, prune = lockfile.load(project.lock), load_prune_list(project.patches)
    with tempfile.TemporaryDirectory(prefix="drift-") as folder:
        tree = locked_base(lock, prune, project.cache)
        git = create(Path(folder), tree, project, lock.version)
        series = git.text("rev-parse", "HEAD")
        names = [commit.name for commit in commits(git, BASE)]
        if list(pulls) == ["all"]:
            listing = git.lines("ls-remote", upstream_git, "refs/pull/*/head")
            pulls = sorted((line.split("/")[2] for line in listing), key=int)
        revisions = [*([branch] if branch else []), *(f"refs/pull/{pull}/head" for pull in pulls)]
        columns = []
        for revision in revisions:
            git.run("fetch", "--quiet", "--depth=1", "--no-tags", upstream_git, revision)
            source = read_tree(git, "FETCH_HEAD", "src/smolagents/")
            target = {path.removeprefix("src/"): data for path, data in source.items()}
            for path in prune:
                target.pop(path, None)
            commit_tree(git, target, revision, _TARGET)
            git.run("checkout", "--quiet", "-B", BRANCH, series)
            columns.append(_outcomes(git, names))
    rows = [
        f"# Drift of the series from smolagents {lock.version}\n",
        f"| patch | {' | '.join(revisions)} |",
        "|---|" + "---|" * len(revisions),
        *(f"| `{name}` | {' | '.join(column[name] for column in columns)} |" for name in names),
    ]
    fits = all(word in ("clean", "in upstream") for column in columns for word in column.values())
    return fits, "\n".join([*rows, "\nTests are not run on unreleased revisions.\n"])


def _outcomes(git: Git, names: Sequence[str]) -> dict[str, str]:
    """Rebase onto the target without the patches that conflict; returns what became of each."""
    stops: list[str] = []
    conflicts: dict[str, str] = {}
    while not rebase_onto(git, _TARGET, BASE, stops):
        conflicts[stops[-1]] = "**conflict** in " + ", ".join(
            git.lines("diff", "--name-only", "--diff-filter=U")
        )
        git.run("rebase", "--skip", check=False)
    there = {commit.name for commit in commits(git, _TARGET)}
    return {
        name: conflicts.get(name) or ("clean" if name in there else "in upstream") for name in names
    }

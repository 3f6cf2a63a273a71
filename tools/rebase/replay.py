"""Replay the series base by base, each patch a three-way merge of git's.

``git rebase`` would do the same in one call, but what it remembers when it is killed is its own
affair. Here one ref is written for each finished patch; a pick that was cut off has none, is
thrown away and done again.
"""

from __future__ import annotations

import itertools
import shutil
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.errors import GitError, RebaseError, SeriesError
from tools.git import Git
from tools.rebase.bases import release_base, tag_base
from tools.rebase.conflict import Place, places, undecided
from tools.rebase.state import Folder, Plan, Step, reached
from tools.series.repository import BASE, BRANCH, Commit, commit_tree, commits, create
from tools.series.repository import release_base as locked_base
from tools.upstream.fetch import fetch_sdist

__all__ = ["Conflict", "Pick", "Replay"]

_CONFLICT = "refs/conflict"


class Pick(NamedTuple):
    """Outcome of one patch on one base.

    Attributes:
        outcome: ``clean``, ``resolved`` (by hand), ``empty`` (dropped) or ``skipped`` (by hand).
        name: the patch's file name.
        tip: the last commit after it.
    """

    outcome: str
    name: str
    tip: str


class Conflict(NamedTuple):
    """A patch that does not fit; the started pick is in the work tree.

    Attributes:
        commit: the patch on the base before.
        before: the base it was written on.
        step: the base it does not fit.
        done: patches that are on that base already.
        left: how many come after this one.
        places: what is unmerged.
    """

    commit: Commit
    before: Step
    step: Step
    done: list[str]
    left: int
    places: list[Place]


class Replay:
    """The series on its way through the scratch repository.

    Args:
        folder: the rebase's folder.
        plan: the bases to pass through.
        drop: file name of the conflicting patch to leave out; empty for none.
    """

    def __init__(self, folder: Folder, plan: Plan, drop: str = "") -> None:
        self.folder = folder
        self.plan = plan
        self._drop = drop
        self.git: Git = folder.git

    def run(self) -> Conflict | None:
        """Go on from wherever the refs say, to the last base or to the first conflict.

        Raises:
            RebaseError: a conflict is not resolved yet, or the series does not apply at all.
        """
        if not (self.folder.repository.exists() and self._id(self.plan.steps[0].series)):
            self._prepare(self.plan.steps[0])
        for number, (before, step) in enumerate(itertools.pairwise(self.plan.steps)):
            if self._id(step.series):
                continue
            if not self._id(step.base):
                commit_tree(self.git, self._tree(step), f"smolagents {step.label}", step.base)
                reached("base-committed")
            queue, done = self.series(before), self.picks(number)
            for commit in queue[len(done) :]:
                tip = done[-1].tip if done else self._id(step.base)
                pick = self._picked(commit, tip)
                if not isinstance(pick, Pick):
                    names, left = [one.name for one in done], len(queue) - len(done) - 1
                    return Conflict(commit, before, step, names, left, pick)
                name = f"refs/picks/{number:03}/{len(done):03}/{pick.outcome}/{pick.name}"
                self.git.run("update-ref", name, pick.tip)
                reached("picked")
                done.append(pick)
            self._reset(done[-1].tip if done else step.base)
            self.git.run("update-ref", step.series, "HEAD")
            reached("step-finished")
        if self._drop:
            raise RebaseError(f"DROP={self._drop}: the replay is finished; no patch conflicts")
        return None

    def stopped(self) -> Conflict | None:
        """Return the conflict that a person has been asked about; None when there is none."""
        for number, (before, step) in enumerate(itertools.pairwise(self.plan.steps)):
            if self._id(step.series):
                continue
            queue, done = self.series(before), self.picks(number)
            left = queue[len(done) :]
            if not left or self._id(_CONFLICT) != left[0].id:
                return None
            found = list(places(self.git, left[0].id, ""))
            return Conflict(left[0], before, step, [one.name for one in done], len(left) - 1, found)
        return None

    def series(self, step: Step) -> list[Commit]:
        """Return the series on a base, oldest first."""
        return commits(self.git, step.base, step.series)

    def picks(self, number: int) -> list[Pick]:
        """Return the outcomes so far on the base after ``plan.steps[number]``."""
        refs = self.git.lines(
            "for-each-ref", "--format=%(refname) %(objectname)", f"refs/picks/{number:03}"
        )
        parts = [line.replace(" ", "/").split("/") for line in refs]
        return [Pick(outcome, name, tip) for *_, outcome, name, tip in parts]

    def _id(self, revision: str) -> str:
        """Resolve a revision; empty when there is none."""
        found = self.git.run("rev-parse", "--quiet", "--verify", revision, check=False)
        return found.stdout.decode().strip()

    def _prepare(self, first: Step) -> None:
        """Make the scratch repository with the old release and the series on it."""
        project = self.folder.project
        shutil.rmtree(self.folder.repository, ignore_errors=True)
        lock = lockfile.load(project.lock)
        tree = locked_base(lock, load_prune_list(project.patches), project.cache)
        try:
            create(self.folder.repository, tree, project, lock.version)
        except SeriesError as error:
            raise RebaseError(f"{error}\nmake patches-check and patches-edit come first") from None
        refs = f"create {first.base} {BASE}\ndelete {BASE}\ncreate {first.series} HEAD\n"
        self.git.run("update-ref", "--stdin", stdin=refs.encode())
        reached("series-committed")

    def _tree(self, step: Step) -> dict[str, bytes]:
        project = self.folder.project
        prune = load_prune_list(project.patches)
        if step.source == "git":
            return tag_base(step.version, prune, self.plan.upstream_git, self.git)
        if step == self.plan.steps[-1]:
            fetch_sdist(step.version, project.cache)  # the lock is made from it, too
        return release_base(step.version, prune, project.cache).tree

    def _reset(self, commit: str) -> None:
        """Put branch, index and work tree on a commit, whatever a killed git has left there."""
        for path in self.git.git_dir.rglob("*.lock"):  # the rebase's own lock says: no git lives
            path.unlink()
        self.git.run("cherry-pick", "--quit", check=False)
        self.git.run("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
        self.git.run("reset", "--quiet", "--hard", commit)

    def _picked(self, commit: Commit, tip: str) -> Pick | list[Place]:
        """Pick a commit, or take a person's resolution; returns what is unmerged on a conflict."""
        is_stopped = self._id(_CONFLICT) == commit.id
        if self._drop:
            if not is_stopped or self._drop != commit.name:
                raise RebaseError(
                    f"DROP={self._drop}: the rebase has stopped at another patch, or at none"
                )
            self._drop = ""
            return Pick("skipped", commit.name, tip)
        if is_stopped and not self._is_given_up(tip):
            return self._accepted(commit, tip)
        self._reset(tip)
        # An empty commit is made, seen and dropped here; left to itself git stops at it.
        options = ("--allow-empty", "--keep-redundant-commits", commit.id)
        try:
            self.git.run("cherry-pick", *options, env=_dated(commit))
        except GitError as error:
            if found := list(places(self.git, commit.id, error.output)):
                self.git.run("update-ref", _CONFLICT, commit.id)
                return found
            raise
        if self.git.succeeds("diff", "--quiet", tip, "HEAD"):
            return Pick("empty", commit.name, tip)
        return Pick("clean", commit.name, self._id("HEAD"))

    def _is_given_up(self, tip: str) -> bool:
        """Tell whether the started pick was ended with nothing left of it (cherry-pick --abort)."""
        is_under_way = bool(self._id("CHERRY_PICK_HEAD"))
        unchanged = self._id("HEAD") == tip and self.git.succeeds("diff", "--quiet", tip)
        return unchanged and not is_under_way

    def _accepted(self, commit: Commit, tip: str) -> Pick:
        """Take what a person made of a conflict, committed or not.

        Raises:
            RebaseError: it is not resolved yet; names the files.
        """
        where = self.git.folder
        if self._id("HEAD") == tip:
            if files := undecided(self.git):
                raise RebaseError(
                    f"{where}: still in conflict: {', '.join(files)}; edit away the marks, git add "
                    f"(or git rm) the file, then make rebase-continue"
                )
            if self.git.succeeds("diff", "--quiet", tip):
                return Pick("skipped", commit.name, tip)
            if not self.git.succeeds("diff", "--cached", "--quiet", tip):
                # With the patch's own author, date and message.
                self.git.run("commit", "--quiet", "-C", commit.id, env=_dated(commit))
                reached("resolved")
        if not self.git.succeeds("merge-base", "--is-ancestor", tip, "HEAD"):
            raise RebaseError(
                f"{where}: HEAD does not stand on {tip[:12]} any more, where the rebase stopped; "
                f"git reset --hard {tip[:12]} and resolve again, or make rebase-abort"
            )
        if changed := self.git.lines("status", "--porcelain", "--untracked-files=no"):
            raise RebaseError(f"{where}: not committed yet:\n" + "\n".join(changed))
        return Pick("resolved", commit.name, self._id("HEAD"))


def _dated(commit: Commit) -> dict[str, str]:
    """Return the author's date for the committer too: the same rebase gives the same commits."""
    return {"GIT_COMMITTER_DATE": commit.date}

"""Replays the series base by base, each patch a three-way merge of git's.

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
from tools.rebase.conflict import Place, has_marks, places
from tools.rebase.points import reached
from tools.rebase.state import Folder, Plan, Step
from tools.series.message import parse_trailers
from tools.series.repository import BRANCH, commit_tree, create, patch_bytes
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
        name: the patch.
        commit: the patch's commit on the base before.
        before: the base it was written on.
        step: the base it does not fit.
        done: patches that are on that base already.
        left: how many come after this one.
        places: what is unmerged.
    """

    name: str
    commit: str
    before: Step
    step: Step
    done: list[str]
    left: int
    places: list[Place]


class Replay:
    """The series on its way through the scratch repository.

    Args:
        folder: the rebase's folder.
        plan: what was asked for.
    """

    def __init__(self, folder: Folder, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.git: Git = folder.git

    def run(self) -> Conflict | None:
        """Go on from wherever the refs say, to the last base or to the first conflict.

        Raises:
            RebaseError: a conflict is not resolved yet, or the series does not apply at all.
        """
        first = self.plan.steps[0]
        if not (self.folder.repository.exists() and self._has(first.series)):
            self._prepare(first)
        for number, (before, step) in enumerate(itertools.pairwise(self.plan.steps)):
            if self._has(step.series):
                continue
            if not self._has(step.base):
                commit_tree(self.git, self._tree(step), f"smolagents {step.label}", step.base)
                reached("base-committed")
            queue = self.commits(before)
            while len(done := self.picks(number)) < len(queue):
                commit = queue[len(done)]
                tip = done[-1].tip if done else self.git.text("rev-parse", step.base)
                if self._has(_CONFLICT) and self.git.text("rev-parse", _CONFLICT) == commit:
                    pick = self._accepted(commit, tip)
                elif isinstance(picked := self._picked(commit, tip), Pick):
                    pick = picked
                else:
                    found = self._stopped(commit, picked)
                    names, left = [one.name for one in done], len(queue) - len(done) - 1
                    return Conflict(self.name(commit), commit, before, step, names, left, found)
                name = f"refs/picks/{number:03}/{len(done):03}/{pick.outcome}/{pick.name}"
                self.git.run("update-ref", name, pick.tip)
                reached("picked")
            self._stand_on(done[-1].tip if done else step.base)
            self.git.run("update-ref", step.series, "HEAD")
            reached("step-finished")
        return None

    def commits(self, step: Step) -> list[str]:
        """The series on a base, oldest first."""
        return self.git.lines("rev-list", "--reverse", f"{step.base}..{step.series}")

    def picks(self, number: int) -> list[Pick]:
        """Return the outcomes so far on the base after ``plan.steps[number]``."""
        refs = self.git.lines(
            "for-each-ref", "--format=%(refname) %(objectname)", f"refs/picks/{number:03}"
        )
        parts = [line.replace(" ", "/").split("/") for line in refs]
        return [Pick(outcome, name, tip) for *_, outcome, name, tip in parts]

    def trailers(self, commit: str) -> dict[str, tuple[str, ...]]:
        """The trailers of a commit's message."""
        return parse_trailers(self.git.text("show", "--no-patch", "--format=%B", commit))[1]

    def name(self, commit: str) -> str:
        """The ``Patch-Name`` of a commit, or its abbreviated id when it has none."""
        return self.trailers(commit).get("Patch-Name", (commit[:12],))[0]

    def _has(self, ref: str) -> bool:
        return self.git.succeeds("rev-parse", "--quiet", "--verify", ref)

    def _prepare(self, first: Step) -> None:
        """Make the scratch repository with the old release and the series on it."""
        project = self.folder.project
        shutil.rmtree(self.folder.repository, ignore_errors=True)
        lock = lockfile.load(project.lock)
        tree = locked_base(lock, load_prune_list(project.patches), project.cache)
        try:
            create(self.folder.repository, tree, lock.version, patch_bytes(project))
        except SeriesError as error:
            raise RebaseError(f"{error}\nmake patches-check and patches-edit come first") from None
        self.git.run("update-ref", first.base, "refs/tags/base")
        self.git.run("tag", "--delete", "base")
        self.git.run("update-ref", first.series, "HEAD")
        reached("series-committed")

    def _tree(self, step: Step) -> dict[str, bytes]:
        project = self.folder.project
        prune = load_prune_list(project.patches)
        if step.source == "git":
            return tag_base(step.version, prune, self.plan.upstream_git, self.git)
        if step == self.plan.steps[-1]:
            fetch_sdist(step.version, project.cache)  # the lock is made from it, too
        return release_base(step.version, prune, project.cache).tree

    def _stand_on(self, commit: str) -> None:
        """Put branch, index and work tree on a commit, whatever a killed git has left there."""
        for path in self.git.git_dir.rglob("*.lock"):  # the rebase's own lock says: no git lives
            path.unlink()
        self.git.run("cherry-pick", "--quit", check=False)
        self.git.run("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
        self.git.run("reset", "--quiet", "--hard", commit)

    def _date_of(self, commit: str) -> dict[str, str]:
        """The author's date for the committer too: the same rebase gives the same commits."""
        date = self.git.text("show", "--no-patch", "--format=%ad", "--date=raw", commit)
        return {"GIT_COMMITTER_DATE": date}

    def _picked(self, commit: str, tip: str) -> Pick | str:
        """Pick a commit; git's words when it has left a conflict in the work tree."""
        self._stand_on(tip)
        reached("picking")
        # An empty commit is made, seen and dropped here; left to itself git stops at it.
        options = ("--allow-empty", "--keep-redundant-commits", commit)
        done = self.git.run("cherry-pick", *options, env=self._date_of(commit), check=False)
        if done.returncode:
            return (done.stdout + done.stderr).decode("utf-8", "replace")
        if self._tree_of("HEAD") == self._tree_of(tip):
            return Pick("empty", self.name(commit), tip)
        return Pick("clean", self.name(commit), self.git.text("rev-parse", "HEAD"))

    def _tree_of(self, commit: str) -> str:
        return self.git.text("rev-parse", f"{commit}^{{tree}}")

    def _stopped(self, commit: str, said: str) -> list[Place]:
        """Remember that a person is asked about this commit; returns what is unmerged."""
        found = list(places(self.git, commit, said))
        if not found:
            raise GitError(f"git cherry-pick {commit} failed", said)
        self.git.run("update-ref", _CONFLICT, commit)
        return found

    def _accepted(self, commit: str, tip: str) -> Pick:
        """Take what a person made of a conflict, committed or not.

        Raises:
            RebaseError: it is not resolved yet; names the files.
        """
        name = self.name(commit)
        if self.git.text("rev-parse", "HEAD") == tip:
            self._refuse_undecided(tip)
            self.git.run("add", "--update")
            if self.git.text("write-tree") == self._tree_of(tip):
                return Pick("skipped", name, tip)
            # With the patch's own author, date and message.
            env = self._date_of(commit)
            self.git.run("commit", "--quiet", "--no-verify", "-C", commit, env=env)
            reached("resolved")
        head = self.git.text("rev-parse", "HEAD")
        if not self.git.succeeds("merge-base", "--is-ancestor", tip, head):
            raise RebaseError(
                f"{self.git.folder}: HEAD does not stand on {tip[:12]} any more, where the rebase "
                f"stopped; git reset --hard {tip[:12]} and resolve again, or make rebase-abort"
            )
        if changed := self.git.lines("status", "--porcelain", "--untracked-files=no"):
            raise RebaseError(f"{self.git.folder}: not committed yet:\n" + "\n".join(changed))
        return Pick("resolved", name, head)

    def _refuse_undecided(self, tip: str) -> None:
        stages: dict[str, set[str]] = {}
        for entry in self.git.text("ls-files", "--unmerged", "-z").split("\0")[:-1]:
            what, _, path = entry.partition("\t")
            stages.setdefault(path, set()).add(what.split()[2])
        # Without all three sides there are no marks, so no telling whether it was looked at.
        undecided = {path for path, numbers in stages.items() if numbers != {"1", "2", "3"}}
        for path in {*stages, *self.git.lines("diff", "--name-only", "--diff-filter=d", tip)}:
            file = self.git.folder / path
            if not file.is_file() or has_marks(file.read_bytes()):
                undecided.add(path)
        if undecided:
            raise RebaseError(
                f"{self.git.folder}: still in conflict: {', '.join(sorted(undecided))}; edit away "
                f"the marks, git add (or git rm) the file, then make rebase-continue"
            )

"""Replays the series base by base, each patch a three-way merge, each result made durable.

``git rebase`` would do the same in one call, but what it remembers when it is killed is its own
affair. Here the last finished commit and the commits still to do are in our state before and
after every pick, so that a pick that was cut off is thrown away and done again.
"""

from __future__ import annotations

import shutil

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.git import Git, GitError
from tools.paths import Project
from tools.rebase.bases import release_step, tag_step
from tools.rebase.conflict import Conflict, conflicts, has_marks
from tools.rebase.points import reached
from tools.rebase.state import Folder, Pick, RebaseError, State, Step
from tools.series.check import patch_bytes
from tools.series.message import parse_trailers
from tools.series.repository import BRANCH, SeriesError, commit_tree, create, release_base

__all__ = ["PickConflict", "accept_resolution", "base_ref", "prepare", "replay", "series_ref"]


class PickConflict(Exception):
    """A patch does not fit; the started pick is in the work tree.

    Attributes:
        name: the patch.
        version: the base it does not fit.
        places: what is unmerged.
    """

    def __init__(self, name: str, version: str, places: list[Conflict]) -> None:
        self.name = name
        self.version = version
        self.places = places
        super().__init__(f"patches/{name} does not fit upstream {version}")


def base_ref(step: Step) -> str:
    """The ref of a step's base."""
    return f"refs/tags/upstream/{step.label}"


def series_ref(step: Step) -> str:
    """The ref of the series on a step's base."""
    return f"refs/tags/series/{step.label}"


def prepare(project: Project, folder: Folder, state: State, git: Git) -> None:
    """Make the scratch repository with the old release and the series on it.

    Raises:
        RebaseError: the series does not apply to the release it was made for.
    """
    if folder.repository.exists():
        shutil.rmtree(folder.repository)
    lock = lockfile.load(project.lock)
    tree = release_base(lock, load_prune_list(project.patches), project.cache)
    try:
        create(folder.repository, tree, lock.version, patch_bytes(project))
    except SeriesError as error:
        raise RebaseError(f"{error}\nmake patches-check and patches-edit come first") from None
    git.run("config", "merge.conflictStyle", "diff3")
    first = state.steps[0]
    git.run("update-ref", base_ref(first), "refs/tags/base")
    git.run("tag", "--delete", "base")
    git.run("update-ref", series_ref(first), "HEAD")
    reached("old-series-committed")
    state.at = 0
    _next_step(folder, state, git)


def _next_step(folder: Folder, state: State, git: Git) -> None:
    """Queue the commits of the finished step for the next one."""
    done = state.step
    state.at += 1
    state.queue = git.lines("rev-list", "--reverse", f"{base_ref(done)}..{series_ref(done)}")
    state.step.picks = []
    state.tip = ""
    state.phase = "replay"
    folder.save(state)


def _commit_base(project: Project, folder: Folder, state: State, git: Git) -> str:
    step = state.step
    prune = load_prune_list(project.patches)
    if step.source == "git":
        base = tag_step(step.version, prune, state.upstream_git, git)
    else:
        base = release_step(step.version, prune, project.cache)
    if base.lock is not None and state.at == len(state.steps) - 1:
        lockfile.save(folder.path / "upstream.lock", base.lock)
        state.prune_dropped, state.prune_added = base.dropped, base.added
    commit = commit_tree(git, base.tree, f"smolagents {step.label}, pruned", base_ref(step))
    reached("base-committed")
    return commit


def replay(project: Project, folder: Folder, state: State, git: Git) -> None:
    """Go on from wherever the state says, to the last base.

    Raises:
        PickConflict: a patch does not fit; the state says so and the work tree holds it.
    """
    while True:
        if not state.tip:
            state.tip = _commit_base(project, folder, state, git)
            folder.save(state)
        _stand_on(git, state.tip)
        while state.queue:
            _pick(folder, state, git)
        git.run("update-ref", series_ref(state.step), state.tip)
        reached("step-finished")
        if state.at == len(state.steps) - 1:
            state.phase = "verify"
            folder.save(state)
            reached("replayed")
            return
        _next_step(folder, state, git)


def _stand_on(git: Git, commit: str) -> None:
    """Put branch, index and work tree on a commit, whatever a killed git has left there."""
    git.run("cherry-pick", "--quit", check=False)
    git.run("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    git.run("reset", "--quiet", "--hard", commit)


def _pick(folder: Folder, state: State, git: Git) -> None:
    commit = state.queue[0]
    name = patch_name(git, commit)
    reached("picking")
    # An empty commit is made, seen and dropped here; left to itself git stops at it.
    date = git.text("show", "--no-patch", "--format=%ad", "--date=raw", commit)
    options = ("--allow-empty", "--keep-redundant-commits")
    env = {"GIT_COMMITTER_DATE": date}
    done = git.run("cherry-pick", *options, commit, env=env, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        places = conflicts(git, commit, said)
        if not places:
            raise GitError(("cherry-pick", commit), done.returncode, said)
        state.phase = "conflict"
        state.busy = False
        folder.save(state)
        raise PickConflict(name, state.step.label, places)
    if git.text("rev-parse", "HEAD^{tree}") == git.text("rev-parse", f"{state.tip}^{{tree}}"):
        _stand_on(git, state.tip)
        _record(folder, state, Pick(name, "empty"), state.tip)
    else:
        _record(folder, state, Pick(name, "clean"), git.text("rev-parse", "HEAD"))


def _record(folder: Folder, state: State, pick: Pick, tip: str) -> None:
    state.queue.pop(0)
    state.step.picks.append(pick)
    state.tip = tip
    state.resolved = ""
    state.phase = "replay"
    folder.save(state)
    reached("picked")


def patch_name(git: Git, commit: str) -> str:
    """The ``Patch-Name`` of a commit, or its abbreviated id when it has none."""
    _, trailers = parse_trailers(git.text("show", "--no-patch", "--format=%B", commit))
    return trailers.get("Patch-Name", (commit[:12],))[0]


def accept_resolution(folder: Folder, state: State, git: Git) -> None:
    """Take what a person made of a conflict; it is in our state before anything is moved.

    Raises:
        RebaseError: the conflict is not resolved yet; names the files.
    """
    name = patch_name(git, state.queue[0])
    if state.phase == "conflict":
        head = git.text("rev-parse", "HEAD")
        if head != state.tip:
            _accept_commit(folder, state, git, name, head)
            return
        state.resolved = _resolved_tree(git, state.tip)
        state.phase = "resolved"
        folder.save(state)
        reached("resolution-kept")
    if state.resolved == git.text("rev-parse", f"{state.tip}^{{tree}}"):
        _stand_on(git, state.tip)
        _record(folder, state, Pick(name, "skipped"), state.tip)
        return
    commit = _commit_like(git, state.queue[0], state.resolved, state.tip)
    _stand_on(git, commit)
    _record(folder, state, Pick(name, "resolved"), commit)


def _accept_commit(folder: Folder, state: State, git: Git, name: str, head: str) -> None:
    """The person has committed, as `git cherry-pick --continue` does."""
    if git.run("merge-base", "--is-ancestor", state.tip, head, check=False).returncode:
        raise RebaseError(
            f"{git.folder}: HEAD does not stand on {state.tip[:12]} any more, where the rebase "
            f"stopped; git reset --hard {state.tip[:12]} and resolve again, or make rebase-abort"
        )
    changed = git.lines("status", "--porcelain", "--untracked-files=no")
    if changed:
        raise RebaseError(f"{git.folder}: not committed yet:\n" + "\n".join(changed))
    _record(folder, state, Pick(name, "resolved"), head)


def _resolved_tree(git: Git, tip: str) -> str:
    stages: dict[str, set[str]] = {}
    for entry in git.text("ls-files", "--unmerged", "-z").split("\0"):
        if entry:
            what, _, path = entry.partition("\t")
            stages.setdefault(path, set()).add(what.split()[2])
    undecided = []
    for path, numbers in stages.items():
        file = git.folder / path
        # Without all three sides there are no marks, so no telling whether it was looked at.
        if numbers != {"1", "2", "3"} or not file.is_file() or has_marks(file.read_bytes()):
            undecided.append(path)
    for path in git.lines("diff", "--name-only", "--diff-filter=d", tip):
        if path not in undecided and has_marks((git.folder / path).read_bytes()):
            undecided.append(path)
    if undecided:
        raise RebaseError(
            f"{git.folder}: still in conflict: {', '.join(sorted(undecided))}; edit away the "
            f"marks, git add (or git rm) the file, then make rebase-continue"
        )
    git.run("add", "--update")
    return git.text("write-tree")


def _commit_like(git: Git, commit: str, tree: str, parent: str) -> str:
    """Commit a tree with another commit's author, date and message."""
    fields = git.text("show", "--no-patch", "--format=%an%x00%ae%x00%ad", "--date=raw", commit)
    name, address, date = fields.split("\0")
    env = {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": address,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }
    message = git.run("show", "--no-patch", "--format=%B", commit).stdout
    done = git.run("commit-tree", tree, "-p", parent, "-F", "-", stdin=message, env=env)
    return done.stdout.decode().strip()

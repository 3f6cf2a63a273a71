"""The series as commits on upstream's pruned release, in a scratch repository."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildsys.errors import BuildError
from buildsys.lock import Lock
from buildsys.release import verified_release
from buildsys.tree import pruned_package, write_tree
from tools.git import Git, GitError
from tools.paths import Project
from tools.upstream.fetch import fetch_wheel, unpack_wheel

__all__ = [
    "BASE",
    "BRANCH",
    "SeriesError",
    "apply_mail",
    "commit_tree",
    "create",
    "folder_digest",
    "read_tree",
    "release_base",
]

BASE = "refs/tags/base"
BRANCH = "series"

# A base is no one's work: the same date everywhere gives the same commit everywhere.
_BASE_DATE = "2000-01-01T00:00:00+0000"


class SeriesError(Exception):
    """The series, as files or as commits, is not what it should be; the message says what to do."""


def release_base(lock: Lock, prune: Sequence[str], cache: Path) -> dict[str, bytes]:
    """The tree that the series is written on: the release, verified and pruned.

    Args:
        lock: which release, byte for byte.
        prune: paths to drop.
        cache: folder of downloaded releases.

    Raises:
        BuildError: a byte differs from the lock, or the prune list does not fit.
        FetchError: the release is not to be had.
    """
    wheel = fetch_wheel(lock.version, cache)
    with tempfile.TemporaryDirectory() as scratch:
        site = unpack_wheel(wheel, Path(scratch))
        return pruned_package(verified_release(site, lock), list(prune), lock.scripts)


def commit_tree(git: Git, tree: Mapping[str, bytes], subject: str, ref: str) -> str:
    """Commit a tree without a parent and point a ref at it; the work tree is not looked at.

    Args:
        git: the repository.
        tree: file bytes by path.
        subject: the commit's message.
        ref: full name of the ref.

    Returns:
        The commit's id, which depends on nothing but tree and subject.
    """
    with tempfile.TemporaryDirectory(dir=git.git_dir) as scratch:
        work = Path(scratch) / "tree"
        work.mkdir()
        write_tree(dict(tree), work)
        env = {"GIT_INDEX_FILE": str(Path(scratch) / "index"), "GIT_WORK_TREE": str(work)}
        # --force: a .gitignore that a release may carry must not lose us a file.
        git.run("--work-tree", str(work), "add", "--all", "--force", str(work), env=env)
        written = git.text("write-tree", env=env)
    dates = {"GIT_AUTHOR_DATE": _BASE_DATE, "GIT_COMMITTER_DATE": _BASE_DATE}
    commit = git.text("commit-tree", written, "-m", subject, env=dates)
    git.run("update-ref", ref, commit)
    return commit


def apply_mail(git: Git, data: bytes, *, three_way: bool = False) -> None:
    """Commit one patch file on HEAD, with the author and date that its header names.

    Args:
        git: the repository.
        data: bytes of a ``git format-patch`` file.
        three_way: fall back on a merge with the file the patch was written on.

    Raises:
        GitError: git did not take it; with ``three_way`` the started merge is left.
    """
    options = [
        "--keep",  # else a subject that begins with [...] loses it
        "--keep-cr",  # else a file with CRLF is not the one the patch was made from
        "--no-scissors",
        "--whitespace=nowarn",
        "--committer-date-is-author-date",
        "--3way" if three_way else "--no-3way",
    ]
    git.run("am", "--quiet", *options, stdin=data)


def create(
    folder: Path, tree: Mapping[str, bytes], version: str, patches: Mapping[str, bytes]
) -> Git:
    """Make a repository with the base as first commit and the series on it.

    Args:
        folder: an empty or new folder.
        tree: the base.
        version: upstream's version, for the base's message.
        patches: file name to bytes, in order.

    Raises:
        SeriesError: git does not take a patch; names it.
    """
    git = Git(folder)
    git.init(BRANCH)
    base = commit_tree(git, tree, f"smolagents {version} as released, pruned", BASE)
    git.run("reset", "--quiet", "--hard", base)
    for name, data in patches.items():
        try:
            apply_mail(git, data)
        except GitError as error:
            raise SeriesError(
                f"patches/{name}: git am does not take it on upstream {version}:\n{error.output}"
            ) from None
    return git


def read_tree(git: Git, commit: str, below: str = "") -> dict[str, bytes]:
    """Every file of a commit by path.

    Args:
        git: the repository.
        commit: the commit.
        below: only files whose path begins with this, such as ``src/package/``.

    Raises:
        SeriesError: the commit holds a link, a submodule or an executable file.
    """
    tree: dict[str, bytes] = {}
    listing = git.run("ls-tree", "-r", "-z", "--full-tree", commit, *([below] if below else []))
    for entry in listing.stdout.split(b"\0"):
        if not entry:
            continue
        what, _, name = entry.partition(b"\t")
        mode, _, blob = what.split(b" ")
        path = name.decode("utf-8")
        if mode != b"100644":
            raise SeriesError(f"{path}: mode {mode.decode()} in {commit}; expected 100644")
        tree[path] = git.run("cat-file", "blob", blob.decode()).stdout
    return tree


def folder_digest(project: Project) -> str:
    """Digest of the series as it stands on disk: tells whether it moved under an editor."""
    digest = hashlib.sha256()
    paths = [project.patches / "series", project.patches / "prune.list"]
    for path in sorted([*paths, *project.patches.glob("*.patch"), project.lock]):
        if not path.is_file():
            raise BuildError(f"{path}: missing")
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()

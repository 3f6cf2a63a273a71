"""The series as commits on upstream's pruned release, in a scratch repository; and back."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from buildsys.errors import BuildError
from buildsys.lock import Lock
from buildsys.patchfile import apply_patch, parse_patch
from buildsys.release import verified_release
from buildsys.series import series_names
from buildsys.tree import pruned_package
from tools.errors import GitError, SeriesError
from tools.git import Git
from tools.paths import Project
from tools.series.message import PATCH_NAME, parse_trailers
from tools.upstream.fetch import fetch_wheel, unpack_wheel

__all__ = [
    "BASE",
    "BRANCH",
    "Commit",
    "commit_tree",
    "commits",
    "create",
    "export",
    "folder_digest",
    "read_tree",
    "refuse_unfinished",
    "release_base",
    "series_files",
    "write_files",
]

BASE = "refs/tags/base"
BRANCH = "series"

# What the bytes of a patch must not depend on. The rest is git's default: no setting of the
# machine reaches git (tools/git.py), and CI exports again in a repository of its own.
_FORMAT = (
    "--always",  # an empty commit is then seen, and refused, instead of skipped in silence
    "--zero-commit",  # the commit's own id differs from machine to machine
    "--full-index",  # the length of an abbreviated id depends on what else is in the repository
    "--no-signature",  # else the last line is git's version
    "--keep-subject",  # else [PATCH] is put before it
    "--no-stat",  # its width and wording are git's affair
    "--no-renames",  # the strict applier knows none
    "--encode-email-headers",  # else a name beyond ASCII makes a header that is no mail
    "--diff-algorithm=histogram",  # the default differs between versions of git
)

_AM = (
    "--keep",  # else a subject that begins with [...] loses it
    "--keep-cr",  # else a file with CRLF is not the one the patch was made from
    "--no-scissors",
    "--whitespace=nowarn",
    "--committer-date-is-author-date",
    "--no-3way",
)

# What git leaves in a repository until a command is finished or aborted.
_UNDER_WAY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Commit(NamedTuple):
    """A patch as a commit.

    Attributes:
        id: the commit's.
        subject: first line of the message.
        trailers: values by trailer name.
    """

    id: str
    subject: str
    trailers: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """The ``Patch-Name``, or the abbreviated id when there is none."""
        return self.trailers.get("Patch-Name", (self.id[:12],))[0]


def commits(git: Git, base: str, tip: str = "HEAD") -> list[Commit]:
    """Read the commits after a base, oldest first."""
    text = git.text("log", "--reverse", "--format=%H%x00%s%x00%B%x00", f"{base}..{tip}")
    fields = text.split("\0")[:-1]
    return [
        Commit(commit.strip(), subject, parse_trailers(message)[1])
        for commit, subject, message in zip(*[iter(fields)] * 3, strict=True)
    ]


def folder_digest(project: Project) -> str:
    """Digest of the series and the lock on disk: tells whether they moved under an editor."""
    digest = hashlib.sha256()
    fixed = [project.patches / "series", project.patches / "prune.list", project.lock]
    for path in sorted([*fixed, *project.patches.glob("*.patch")]):
        if not path.is_file():
            raise BuildError(f"{path}: missing")
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def release_base(lock: Lock, prune: Sequence[str], cache: Path) -> dict[str, bytes]:
    """Return the tree that the series is written on: the release, verified and pruned.

    Args:
        lock: which release, byte for byte.
        prune: paths to drop.

    Raises:
        BuildError: the release is not the locked one, or a path to drop is not in it.
        FetchError: the release is not to be had.
    """
    with tempfile.TemporaryDirectory() as scratch:
        site = unpack_wheel(fetch_wheel(lock.version, cache), Path(scratch))
        return pruned_package(verified_release(site, lock), list(prune))


def commit_tree(git: Git, tree: Mapping[str, bytes], subject: str, ref: str) -> None:
    """Commit a tree without a parent and point a ref at it; the work tree is not looked at.

    The commit's id depends on nothing but tree and subject: a base has no author, so the same
    date everywhere gives the same commit everywhere.

    Args:
        tree: file bytes by path.
        subject: the commit's message.
        ref: full name of the ref.
    """

    def data(content: bytes) -> bytes:
        return b"data %d\n%b\n" % (len(content), content)

    stream = f"commit {ref}\ncommitter base <base> 946684800 +0000\n".encode()
    stream += data(subject.encode())
    for path, content in sorted(tree.items()):
        stream += f"M 100644 inline {path}\n".encode() + data(content)
    git.run("fast-import", "--quiet", "--force", stdin=stream)


def read_tree(git: Git, commit: str, below: str = "") -> dict[str, bytes]:
    """Every file of a commit by path.

    Args:
        below: only files whose path begins with this, such as ``src/package/``.

    Raises:
        SeriesError: the commit contains a link or an executable file.
        GitError: there is no such commit, or nothing below.
    """
    archive = git.run("archive", "--format=tar", commit, *([below] if below else [])).stdout
    tree: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isdir():
                continue
            content = (
                tar.extractfile(member) if member.isreg() and not member.mode & 0o100 else None
            )
            if content is None:
                raise SeriesError(f"{member.name} in {commit}: expected a plain file, mode 100644")
            tree[member.name] = content.read()
    return tree


def create(folder: Path, tree: Mapping[str, bytes], project: Project, version: str) -> Git:
    """Make a repository with the base as first commit and the project's series on it.

    Args:
        folder: an empty or new folder.
        project: the checkout with the series.
        version: upstream's version, for the base's message.

    Raises:
        SeriesError: git does not take a patch; names it.
    """
    git = Git(folder)
    git.init(BRANCH)
    commit_tree(git, tree, f"smolagents {version} as released, pruned", BASE)
    git.run("reset", "--quiet", "--hard", BASE)
    names = series_names(project.patches)
    try:
        if names:
            git.run("am", "--quiet", *_AM, *(str(project.patches / name) for name in names))
    except GitError as error:
        failed = names[int(git.text("rev-list", "--count", f"{BASE}..HEAD"))]
        raise SeriesError(
            f"patches/{failed}: git am does not take it on upstream {version}:\n{error.output}"
        ) from None
    return git


def refuse_unfinished(git: Git, *, untracked: bool = True) -> None:
    """Refuse a repository whose commits are not all there is in it.

    Args:
        untracked: whether files that git does not know count as well.

    Raises:
        SeriesError: a rebase, am or merge is under way, or there are changes not committed.
    """
    if any((git.git_dir / name).exists() for name in _UNDER_WAY):
        raise SeriesError(
            f"{git.folder}: a git rebase, am or merge is under way; finish it or abort it first"
        )
    which = "all" if untracked else "no"
    if changed := git.lines("status", "--porcelain", f"--untracked-files={which}"):
        raise SeriesError(
            f"{git.folder}: changes that are not committed would be lost; commit or drop them "
            f"first:\n" + "\n".join(changed[:20])
        )


def export(git: Git, base: str) -> dict[str, bytes]:
    """Return the commits after the base as patch files, checked to give the same tree when applied.

    Args:
        git: the repository; HEAD is the last commit of the series.
        base: the commit the series stands on.

    Returns:
        Bytes by file name, in the series' order.

    Raises:
        SeriesError: a commit is a merge, empty, a fixup, has no good ``Patch-Name``, or shares it.
        BuildError: a commit contains what the strict applier does not accept.
    """
    if not git.succeeds("merge-base", "--is-ancestor", base, "HEAD"):
        raise SeriesError(f"{git.folder}: HEAD does not stand on the base {base} any more")
    if merges := git.lines("rev-list", "--merges", f"{base}..HEAD"):
        raise SeriesError(f"{git.folder}: {merges[0]} is a merge; a series is a line: git rebase")
    patches: dict[str, bytes] = {}
    strict = read_tree(git, base)
    with tempfile.TemporaryDirectory() as scratch:
        git.run("format-patch", "--quiet", *_FORMAT, "-o", scratch, f"{base}..HEAD")
        files = [path.read_bytes() for path in sorted(Path(scratch).iterdir())]
    for commit, data in zip(commits(git, base), files, strict=True):
        what = f"{git.folder}: commit {commit.id[:12]} ({commit.subject!r})"
        if commit.subject.startswith(("fixup!", "squash!", "amend!")):
            raise SeriesError(
                f"{what} is to be melted into another: git rebase -i --autosquash base"
            )
        if b"\ndiff --git " not in data:
            raise SeriesError(f"{what} changes nothing; drop it: git rebase -i base")
        names = commit.trailers.get("Patch-Name", ())
        name = names[0] if len(names) == 1 else None
        if name is None or not PATCH_NAME.match(name):
            raise SeriesError(
                f"{what} needs one trailer 'Patch-Name: <words-with-hyphens>.patch', has {name!r}; "
                f"git commit --amend or git rebase -i base, then reword"
            )
        if name in patches:
            raise SeriesError(f"{what} has the Patch-Name of another commit: {name}")
        strict = apply_patch(parse_patch(f"patches/{name}", data), strict)
        patches[name] = data
    by_git = read_tree(git, "HEAD")
    if wrong := sorted({path for path, _ in strict.items() ^ by_git.items()}):
        raise SeriesError(f"git and the strict applier disagree about {', '.join(wrong)}")
    return patches


def series_files(folder: Path, patches: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """List what to write and delete so that a ``patches`` folder has this series."""
    gone = {path.name for path in folder.glob("*.patch")} - set(patches)
    files: dict[str, bytes | None] = {f"patches/{name}": None for name in gone}
    files |= {f"patches/{name}": data for name, data in patches.items()}
    text = _series_text((folder / "series").read_text("utf-8"), list(patches))
    return {**files, "patches/series": text.encode()}


def _series_text(old: str, names: list[str]) -> str:
    """Return the series file for these patches; comments stay with the entry below them."""
    lines = old.splitlines()
    first = next((at for at, line in enumerate(lines) if line.split("#")[0].strip()), len(lines))
    entries: dict[str, list[str]] = {}
    waiting: list[str] = []
    for line in lines[first:]:
        waiting.append(line)
        if name := line.split("#")[0].strip():
            entries[name], waiting = waiting, []
    body = [line for name in names for line in entries.get(name, [name])]
    return "".join(f"{line}\n" for line in [*lines[:first], *body, *waiting])


def write_files(root: Path, files: Mapping[str, bytes | None]) -> None:
    """Write files below a folder and delete those that are None; git is what takes that back."""
    for name, data in files.items():
        path = root / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

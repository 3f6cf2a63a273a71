"""Commits to patch files: the same bytes for the same commits, whoever exports them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from buildsys.patchfile import apply_patch, parse_patch
from tools.git import Git
from tools.series.message import PATCH_NAME, parse_message
from tools.series.repository import SeriesError, read_tree

__all__ = ["exported", "refuse_unfinished", "series_text"]

# Each option has a setting, or a default that differs between versions of git, that it overrules.
_FORMAT = (
    "--stdout",
    "--always",  # an empty commit is then seen, and refused, instead of skipped in silence
    "--zero-commit",  # the commit's own id differs from machine to machine
    "--full-index",  # the length of an abbreviated id depends on what else is in the repository
    "--no-signature",  # else the last line is git's version
    "--keep-subject",  # else [PATCH] is put before it
    "--no-stat",  # its width and wording are git's affair
    "--no-numbered",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-notes",
    "--no-base",
    "--no-from",
    "--encode-email-headers",
    "--no-renames",  # the strict applier knows none
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--diff-algorithm=histogram",
    "--indent-heuristic",
    "--unified=3",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-O/dev/null",  # diff.orderFile
)

_UNFINISHED = {
    "rebase-merge": "a git rebase",
    "rebase-apply": "a git am or rebase",
    "MERGE_HEAD": "a git merge",
    "CHERRY_PICK_HEAD": "a git cherry-pick",
    "REVERT_HEAD": "a git revert",
}


def refuse_unfinished(git: Git, *, untracked: bool = True) -> None:
    """Refuse a repository whose commits are not all there is in it.

    Args:
        git: the repository.
        untracked: whether files that git does not know count as well.

    Raises:
        SeriesError: a rebase, am or merge is under way, or there are changes not committed.
    """
    for name, what in _UNFINISHED.items():
        if (git.git_dir / name).exists():
            raise SeriesError(f"{git.folder}: {what} is under way; finish it or abort it first")
    which = "all" if untracked else "no"
    changed = git.lines("status", "--porcelain", f"--untracked-files={which}")
    if changed:
        listed = "\n".join(changed[:20])
        raise SeriesError(
            f"{git.folder}: changes that are not committed would be lost; commit or drop them "
            f"first:\n{listed}"
        )


def exported(git: Git, base: str, tip: str = "HEAD") -> dict[str, bytes]:
    """The commits after the base as patch files, checked to give the same trees when applied.

    Args:
        git: the repository.
        base: the commit the series stands on.
        tip: the last commit of the series.

    Returns:
        Bytes by file name, in the series' order.

    Raises:
        SeriesError: a commit is a merge, empty, a fixup, has no good ``Patch-Name``, or shares it.
        BuildError: a commit holds what the strict applier does not accept.
    """
    contained = git.run("merge-base", "--is-ancestor", base, tip, check=False)
    if contained.returncode:
        raise SeriesError(f"{git.folder}: {tip} does not stand on the base {base} any more")
    merges = git.lines("rev-list", "--merges", f"{base}..{tip}")
    if merges:
        raise SeriesError(f"{git.folder}: {merges[0]} is a merge; a series is a line: git rebase")
    patches: dict[str, bytes] = {}
    tree = read_tree(git, base)
    for commit in git.lines("rev-list", "--reverse", f"{base}..{tip}"):
        name, data = _patch_of(git, commit)
        if name in patches:
            raise SeriesError(f"{git.folder}: two commits have Patch-Name: {name}; {commit} is one")
        tree = apply_patch(parse_patch(f"patches/{name}", data), tree)
        if tree != read_tree(git, commit):
            raise SeriesError(f"patches/{name}: applied strictly it does not give what {commit} is")
        patches[name] = data
    return patches


def _patch_of(git: Git, commit: str) -> tuple[str, bytes]:
    subject = git.text("show", "--no-patch", "--format=%s", commit)
    what = f"{git.folder}: commit {commit[:12]} ({subject!r})"
    if subject.startswith(("fixup!", "squash!", "amend!")):
        raise SeriesError(f"{what} is to be melted into another: git rebase -i --autosquash base")
    data = git.run("format-patch", *_FORMAT, "-1", commit).stdout
    header, diff, _ = data.partition(b"\ndiff --git ")
    if not diff:
        raise SeriesError(f"{what} changes nothing; drop it: git rebase -i base")
    name = parse_message(header).trailer("Patch-Name")
    if name is None or not PATCH_NAME.match(name):
        raise SeriesError(
            f"{what} needs one trailer 'Patch-Name: <words-with-hyphens>.patch', has {name!r}; "
            f"git commit --amend or git rebase -i base, then reword"
        )
    return name, data


def series_text(old: str, names: Iterable[str]) -> bytes:
    """New content of ``series``: the leading comment as it was, then the names.

    Args:
        old: the file's text until now.
        names: file names in order.
    """
    leading: list[str] = []
    for line in old.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            break
        leading.append(line)
    return "".join(f"{line}\n" for line in [*leading, *names]).encode()


def series_files(folder: Path, patches: dict[str, bytes]) -> dict[str, bytes | None]:
    """What has to be written and deleted so that a ``patches`` folder holds this series.

    Args:
        folder: the ``patches`` folder.
        patches: the series.
    """
    gone = {path.name for path in folder.glob("*.patch")} - set(patches)
    files: dict[str, bytes | None] = {f"patches/{name}": None for name in gone}
    files |= {f"patches/{name}": data for name, data in patches.items()}
    files["patches/series"] = series_text((folder / "series").read_text("utf-8"), patches)
    return files

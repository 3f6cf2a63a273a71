"""Describe a conflict: which patch, file and hunk, and where in the work tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from buildsys.errors import BuildError
from buildsys.patchfile import Hunk, parse_patch
from tools.git import Git

__all__ = ["REGION", "Place", "places", "undecided"]

REGION = re.compile(
    rb"^<<<<<<< [^\n]*\n(?P<upstream>.*?)^\|{7} [^\n]*\n(?P<base>.*?)"
    rb"^=======\n(?P<patch>.*?)^>>>>>>> [^\n]*\n",
    re.MULTILINE | re.DOTALL,
)


class Place(NamedTuple):
    """A place that needs a person.

    Attributes:
        path: the file.
        hunk: which hunk of the patch, such as ``hunk 2 of 3 (@@ -10,7 @@)``.
        where: lines of the marks in the work tree; for conflicts without marks, git's own words.
    """

    path: str
    hunk: str
    where: str

    def __str__(self) -> str:
        return f"{self.path}: {self.hunk}; {self.where}"


def undecided(git: Git) -> list[str]:
    """List the files of a started pick that are unmerged, or have conflict marks in the index."""
    unmerged = git.lines("diff", "--name-only", "--diff-filter=U")
    check = git.run("diff", "--cached", "--check", check=False).stdout.decode("utf-8", "replace")
    marked = re.findall(r"^(.+):\d+: leftover conflict marker", check, re.MULTILINE)
    return sorted({*unmerged, *marked})


def places(git: Git, commit: str, output: str) -> Iterator[Place]:
    """List what is unmerged after a commit could not be picked.

    Args:
        git: the repository, as the failed pick left it.
        commit: the patch's commit on the old base.
        output: what git printed.
    """
    shown = git.run("show", "--format=", "--no-renames", "--full-index", commit).stdout
    try:
        hunks = {change.path: change.hunks for change in parse_patch(commit, shown).changes}
    except BuildError:
        hunks = {}
    for path in git.lines("diff", "--name-only", "--diff-filter=U"):
        file = git.folder / path
        data = file.read_bytes() if file.is_file() else b""
        regions = list(REGION.finditer(data))
        if not regions:
            words = [line for line in output.splitlines() if "CONFLICT" in line and path in line]
            count = len(hunks.get(path, ()))
            yield Place(path, f"all {count} hunks", words[0].strip() if words else "unmerged")
        for region in regions:
            first, last = (data.count(b"\n", 0, at) for at in region.span())
            lines = (region["base"] + region["patch"]).splitlines(keepends=True)
            yield Place(path, _hunk_label(hunks.get(path, ()), lines), f"lines {first + 1}-{last}")


def _hunk_label(hunks: tuple[Hunk, ...], lines: list[bytes]) -> str:
    """Name the hunk that shares most lines with a region: upstream's edits have moved its lines."""
    if not hunks:
        return "a hunk"
    wanted = {line for line in lines if line.strip()}
    best = max(range(len(hunks)), key=lambda at: len(wanted & {*hunks[at].old, *hunks[at].new}))
    hunk = hunks[best]
    return f"hunk {best + 1} of {len(hunks)} (@@ -{hunk.old_start},{len(hunk.old)} @@)"

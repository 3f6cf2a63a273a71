"""Describes a conflict: which patch, file and hunk, and what upstream did there."""

from __future__ import annotations

from dataclasses import dataclass

from buildsys.errors import BuildError
from buildsys.patchfile import Hunk, parse_patch
from tools.git import Git

__all__ = ["Conflict", "conflicts", "has_marks"]

_MARKS = (b"<<<<<<< ", b"||||||| ", b">>>>>>> ")


@dataclass(frozen=True)
class Conflict:
    """One place that needs a person.

    Attributes:
        path: the file.
        hunk: which hunk of the patch, such as ``hunk 2 of 3 (@@ -10,7 +10,9 @@)``.
        lines: first and last line of the marks in the work tree; None when there are none.
        what: git's own line about the file, for conflicts without marks.
    """

    path: str
    hunk: str
    lines: tuple[int, int] | None
    what: str

    def __str__(self) -> str:
        where = f"lines {self.lines[0]}-{self.lines[1]}" if self.lines else self.what
        return f"{self.path}: {self.hunk}; {where}"


def has_marks(data: bytes) -> bool:
    """Whether a file holds a conflict mark at the start of a line."""
    return any(line.startswith(_MARKS) for line in data.split(b"\n"))


def conflicts(git: Git, commit: str, said: str) -> list[Conflict]:
    """What is unmerged after a commit could not be picked.

    Args:
        git: the repository, as the failed pick left it.
        commit: the patch's commit on the old base.
        said: what git printed.
    """
    hunks = _hunks(git, commit)
    found: list[Conflict] = []
    for path in git.lines("diff", "--name-only", "--diff-filter=U"):
        words = [line for line in said.splitlines() if "CONFLICT" in line and path in line]
        what = words[0].strip() if words else "unmerged"
        file = git.folder / path
        regions = _regions(file.read_bytes()) if file.is_file() else []
        if not regions:
            count = len(hunks.get(path, ()))
            found.append(Conflict(path, f"all {count} hunks", None, what))
        for first, last, text in regions:
            hunk = _hunk_label(hunks.get(path, []), text)
            found.append(Conflict(path, hunk, (first, last), what))
    return found


def _hunks(git: Git, commit: str) -> dict[str, list[Hunk]]:
    options = ("--no-renames", "--full-index", "--no-color", "--no-ext-diff")
    data = git.run("show", "--format=", *options, commit).stdout
    try:
        return {change.path: list(change.hunks) for change in parse_patch(commit, data).changes}
    except BuildError:
        return {}


def _regions(data: bytes) -> list[tuple[int, int, list[bytes]]]:
    """Marked regions: first and last line, and the lines of the patch's own side and its base."""
    regions: list[tuple[int, int, list[bytes]]] = []
    start, side, text = 0, "", list[bytes]()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.startswith(b"<<<<<<< "):
            start, side, text = number, "upstream", []
        elif line.startswith(b"||||||| ") and side == "upstream":
            side = "base"
        elif line == b"=======" and side in {"upstream", "base"}:
            side = "patch"
        elif line.startswith(b">>>>>>> ") and side:
            regions.append((start, number, text))
            side = ""
        elif side in {"base", "patch"}:
            text.append(line + b"\n")
    return regions


def _hunk_label(hunks: list[Hunk], text: list[bytes]) -> str:
    """The hunk that shares most lines with a region: upstream's edits have moved its numbers."""
    if not hunks:
        return "a hunk"
    wanted = {line for line in text if line.strip()}
    scores = [len(wanted & {*hunk.old, *hunk.new}) for hunk in hunks]
    best = scores.index(max(scores))
    hunk = hunks[best]
    header = f"@@ -{hunk.old_start},{len(hunk.old)} @@"
    return f"hunk {best + 1} of {len(hunks)} ({header})"

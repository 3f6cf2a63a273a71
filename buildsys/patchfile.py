"""Parser and strict applier of ``git format-patch`` files: no fuzz, no offset.

GNU ``patch`` accepts fuzz. ``git apply`` inside a subfolder of another repository exits 0 and
changes nothing. Both could ship a fork without a patch. Here every context and removed line must
occur exactly where the hunk says.

Binary patches, mode changes, renames and copies are refused: a patch of this series is a hook of a
few lines, and a reader must see its effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from buildsys.errors import BuildError
from buildsys.paths import is_plain_path

__all__ = ["FileChange", "Hunk", "Patch", "apply_change", "apply_patch", "parse_patch"]

_HUNK_HEADER = re.compile(rb"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_GIT_HEADER = re.compile(rb"^diff --git a/(.+) b/(.+)$")
_REFUSED_HEADERS = (
    (b"rename ", "a rename"),
    (b"copy ", "a copy"),
    (b"similarity index", "a rename or copy"),
    (b"dissimilarity index", "a rewrite"),
    (b"old mode", "a mode change"),
    (b"new mode", "a mode change"),
    (b"GIT binary patch", "a binary patch"),
    (b"Binary files ", "a binary patch"),
)
_NO_NEWLINE = b"\\ No newline at end of file"


@dataclass(frozen=True)
class Hunk:
    """One ``@@`` block.

    Attributes:
        old_start: first line of the old side, counted from 1 (0 when the old side is empty).
        old: lines of the old side, each with its line ending if it has one.
        new: lines of the new side, likewise.
        changed: number of added and removed lines, which a reader has to review.
        line: number of the ``@@`` line within the patch file, counted from 1.
    """

    old_start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    changed: int
    line: int


@dataclass(frozen=True)
class FileChange:
    """Change to one file by a patch; ``kind`` is ``modify``, ``create`` or ``delete``."""

    path: str
    kind: str
    hunks: tuple[Hunk, ...]
    line: int


@dataclass(frozen=True)
class Patch:
    """A parsed patch: its name for messages, its mail header and message, and its changes."""

    name: str
    header: bytes
    changes: tuple[FileChange, ...]

    @property
    def size(self) -> int:
        """Number of added and removed lines in all files."""
        return sum(hunk.changed for change in self.changes for hunk in change.hunks)

    @property
    def paths(self) -> tuple[str, ...]:
        """Changed paths, in the order of the patch."""
        return tuple(change.path for change in self.changes)


class _Lines:
    """Cursor over the patch's lines, with the line number for messages."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.lines = data.split(b"\n")
        if self.lines[-1] == b"":
            self.lines.pop()
        self.at = 0

    def peek(self) -> bytes | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self) -> bytes:
        line = self.lines[self.at]
        self.at += 1
        return line

    def error(self, what: str, line: int | None = None) -> BuildError:
        return BuildError(f"{self.name}:{self.at if line is None else line}: {what}")


def parse_patch(name: str, data: bytes) -> Patch:
    """Parse the bytes of a ``git format-patch`` file.

    Args:
        name: the patch's name in messages, such as ``patches/executor-class.patch``.
        data: the file's bytes.

    Raises:
        BuildError: the form of the patch is not accepted; names the line of the patch.
    """
    if data.split(b"\n", 1)[0].endswith(b"\r"):
        raise BuildError(
            f"{name}:1: has CRLF line ends, which no hunk matches: the clone converted them. "
            f"Clone again with `git clone -c core.autocrlf=false`"
        )
    cursor = _Lines(name, data)
    header: list[bytes] = []
    while (line := cursor.peek()) is not None and not line.startswith(b"diff --git "):
        header.append(cursor.take())
    changes: list[FileChange] = []
    while cursor.peek() is not None:
        changes.append(_parse_change(cursor))
    if not changes:
        raise BuildError(f"{name}: contains no 'diff --git' section; expected at least one")
    paths = [change.path for change in changes]
    for path in paths:
        if paths.count(path) > 1:
            raise BuildError(f"{name}: changes {path} in two sections; expected one per file")
    return Patch(name, b"\n".join(header), tuple(changes))


def _parse_change(cursor: _Lines) -> FileChange:
    line = cursor.take()
    start = cursor.at
    match = _GIT_HEADER.match(line)
    if match is None or match[1] != match[2]:
        raise cursor.error(f"expected 'diff --git a/PATH b/PATH' with one path, got {line!r}")
    path = _checked_path(cursor, match[1])
    change_kind = "modify"
    while (line := cursor.peek() or b"") and not line.startswith((b"--- ", b"diff --git ")):
        cursor.take()
        for prefix, what in _REFUSED_HEADERS:
            if line.startswith(prefix):
                raise cursor.error(f"{path}: {what} is not accepted in the series ({line!r})")
        if line.startswith((b"new file mode ", b"deleted file mode ")):
            if not line.endswith(b" 100644"):
                raise cursor.error(f"{path}: expected mode 100644, got {line!r}")
            change_kind = "create" if line.startswith(b"new") else "delete"
        elif not line.startswith(b"index "):
            raise cursor.error(f"{path}: unexpected line {line!r} before the hunks")
    hunks: list[Hunk] = []
    if line.startswith(b"--- "):
        old_side = b"/dev/null" if change_kind == "create" else b"a/" + match[1]
        new_side = b"/dev/null" if change_kind == "delete" else b"b/" + match[1]
        for expected in (b"--- " + old_side, b"+++ " + new_side):
            got = cursor.take() if cursor.peek() is not None else b""
            # git appends a tab to a name that contains a space.
            if got.rstrip(b"\t") != expected:
                raise cursor.error(f"expected {expected!r}, got {got!r}")
        while (cursor.peek() or b"").startswith(b"@@ "):
            hunks.append(_parse_hunk(cursor))
    if change_kind == "modify" and not hunks:
        raise cursor.error(f"{path}: no hunk; expected at least one", start)
    if cursor.peek() is not None and not cursor.lines[cursor.at].startswith(b"diff --git "):
        cursor.at += 1
        raise cursor.error(
            f"{path}: expected a hunk, the next 'diff --git' or the end, "
            f"got {cursor.lines[cursor.at - 1]!r}"
        )
    return FileChange(path, change_kind, tuple(hunks), start)


def _checked_path(cursor: _Lines, raw: bytes) -> str:
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise cursor.error(f"path {raw!r} is not UTF-8") from None
    if not is_plain_path(path):
        raise cursor.error(f"path {path!r} is refused: expected a plain relative path without '..'")
    return path


def _parse_hunk(cursor: _Lines) -> Hunk:
    line = cursor.take()
    at = cursor.at
    match = _HUNK_HEADER.match(line)
    if match is None:
        raise cursor.error(f"malformed hunk header {line!r}")
    old_left = int(match[2] or b"1")
    new_left = int(match[4] or b"1")
    old: list[bytes] = []
    new: list[bytes] = []
    sides: tuple[list[bytes], ...] = ()
    changed = 0
    while old_left or new_left or cursor.peek() == _NO_NEWLINE:
        if cursor.peek() is None:
            raise cursor.error(
                f"hunk ends early: {old_left} old and {new_left} new lines are missing"
            )
        line = cursor.take()
        if line == _NO_NEWLINE:
            if not sides:
                raise cursor.error("'\\ No newline' before any line of the hunk")
            for side in sides:
                side[-1] = side[-1].removesuffix(b"\n")
            sides = ()
            continue
        mark, text = line[:1], line[1:] + b"\n"
        if mark in (b" ", b"") and old_left and new_left:
            # Mail programs strip the single space of an empty context line.
            sides = (old, new)
            text = text if mark else b"\n"
            old_left, new_left = old_left - 1, new_left - 1
        elif mark == b"-" and old_left:
            sides, old_left = (old,), old_left - 1
        elif mark == b"+" and new_left:
            sides, new_left = (new,), new_left - 1
        else:
            raise cursor.error(
                f"unexpected line {line!r}: {old_left} old and {new_left} new lines are expected"
            )
        changed += len(sides) == 1
        for side in sides:
            side.append(text)
    return Hunk(int(match[1]), tuple(old), tuple(new), changed, at)


def apply_change(name: str, change: FileChange, content: bytes | None) -> bytes | None:
    """Apply one file's hunks to its content.

    Args:
        name: the patch's name for messages.
        change: the parsed change.
        content: the file's bytes, or None when the file does not exist.

    Returns:
        The new bytes, or None when the change deletes the file.

    Raises:
        BuildError: a hunk does not match exactly; names patch, hunk, file, line and both texts.
    """
    where = f"{name}:{change.line}"
    if change.kind == "create":
        if content is not None:
            raise BuildError(f"{where}: creates {change.path}, which exists already")
        if any(hunk.old for hunk in change.hunks):
            raise BuildError(f"{where}: creates {change.path}, but has lines of an old side")
        return b"".join(line for hunk in change.hunks for line in hunk.new)
    if content is None:
        raise BuildError(f"{where}: {change.path} does not exist in the release")
    lines = _split(content)
    result: list[bytes] = []
    position = 0
    for number, hunk in enumerate(change.hunks, start=1):
        # An empty old side names the line *after which* the text goes (unified format).
        start = hunk.old_start - 1 if hunk.old else hunk.old_start
        label = f"{name}:{hunk.line}: hunk {number} of {change.path}"
        if start < position:
            raise BuildError(f"{label} overlaps the one before it")
        if start > len(lines):
            raise BuildError(
                f"{label} starts at line {start + 1}, but the file has {len(lines)} lines"
            )
        result += lines[position:start]
        for offset, expected in enumerate(hunk.old):
            index = start + offset
            actual = lines[index] if index < len(lines) else b""
            if actual != expected:
                raise BuildError(
                    f"{label} does not match at line {index + 1}: "
                    f"expected {expected!r}, found {actual!r}"
                )
        if hunk.new and result and not result[-1].endswith(b"\n"):
            # The text would be joined to that line; a correct patch replaces the line.
            raise BuildError(
                f"{label} adds lines after the last one, which has no newline at its end"
            )
        result += hunk.new
        position = start + len(hunk.old)
        _check_end(label, hunk, at_end=position == len(lines))
    result += lines[position:]
    if change.kind == "delete":
        if result:
            raise BuildError(f"{where}: deletes {change.path}, but {len(result)} lines remain")
        return None
    return b"".join(result)


def _check_end(label: str, hunk: Hunk, *, at_end: bool) -> None:
    """Check that a side without a final newline is at the end of the file."""
    for side in (hunk.old, hunk.new):
        if side and not side[-1].endswith(b"\n") and not at_end:
            raise BuildError(f"{label} says 'no newline at end of file' before the file's end")


def _split(content: bytes) -> list[bytes]:
    """Split at LF only, like git; ``bytes.splitlines`` would also split at a lone CR."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1].removesuffix(b"\n")
    return lines if lines[-1] else lines[:-1]


def apply_patch(patch: Patch, tree: dict[str, bytes]) -> dict[str, bytes]:
    """Apply a patch to a tree in memory, completely or, on an error, not at all.

    Args:
        patch: the parsed patch.
        tree: file bytes by relative POSIX path; it is not modified.

    Returns:
        A new tree.

    Raises:
        BuildError: see :func:`apply_change`.
    """
    result = dict(tree)
    for change in patch.changes:
        content = apply_change(patch.name, change, result.get(change.path))
        if content is None:
            del result[change.path]
        else:
            result[change.path] = content
    return result

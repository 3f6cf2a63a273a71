"""Exact-once substitutions: the version, and the notice that a file was modified.

The text changes with every release, so patches with it would conflict with every release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from buildsys.errors import BuildError
from buildsys.patchfile import Patch

__all__ = ["Stamp", "apply_stamps", "notice_stamps", "version_stamp"]

# Last line of the Apache licence header in upstream's files.
_HEADER_END = b"# limitations under the License.\n"


@dataclass(frozen=True)
class Stamp:
    """One substitution: ``find`` must occur exactly once in the file."""

    path: str
    find: bytes
    replace: bytes


def version_stamp(upstream_version: str, version: str) -> Stamp:
    """Return the stamp that sets ``smolagents.__version__`` to the fork's version."""
    return Stamp(
        "smolagents/__init__.py",
        f'__version__ = "{upstream_version}"\n'.encode(),
        f'__version__ = "{version}"\n'.encode(),
    )


def notice_stamps(patches: list[Patch], stamped: list[Stamp], version: str) -> list[Stamp]:
    """Return stamps with the notice of modification that the Apache License 2.0, 4(b), requires.

    Args:
        patches: the series; every file it changes gets a notice.
        stamped: other stamps; the files they change get a notice, too.
        version: the fork's version.
    """
    by_path: dict[str, list[str]] = {stamp.path: ["buildsys/stamps.py"] for stamp in stamped}
    for patch in patches:
        for path in patch.paths:
            by_path.setdefault(path, []).append(patch.name)
    notice = "#\n# Modified for smolagents {} by {}; see NOTICE.\n"
    return [
        Stamp(path, _HEADER_END, _HEADER_END + notice.format(version, ", ".join(names)).encode())
        for path, names in sorted(by_path.items())
    ]


def apply_stamps(tree: dict[str, bytes], stamps: list[Stamp]) -> dict[str, bytes]:
    """Apply stamps to a tree in memory.

    Raises:
        BuildError: the file is missing, or the text occurs zero times or more than once.
    """
    result = dict(tree)
    for stamp in stamps:
        content = result.get(stamp.path)
        if content is None:
            raise BuildError(f"{stamp.path}: to be stamped, but not in the tree")
        lines = [
            content.count(b"\n", 0, match.start()) + 1
            for match in re.finditer(re.escape(stamp.find), content)
        ]
        if len(lines) != 1:
            where = f" (lines {', '.join(map(str, lines))})" if lines else ""
            raise BuildError(
                f"{stamp.path}: the text to stamp, {stamp.find!r}, occurs {len(lines)} times"
                f"{where}; expected exactly once"
            )
        result[stamp.path] = content.replace(stamp.find, stamp.replace)
    return result

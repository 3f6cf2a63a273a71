"""Rehearses a rebase on real history: the series, written on an older release, brought to ours.

The older series is made from the present one by replaying it backwards, in a scratch copy. From
there the command alone has to bring it back, as it would have at the time.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from buildsys import lock as lockfile
from tools.git import Git
from tools.paths import Project
from tools.rebase.bases import path_of_versions
from tools.rebase.command import CHECK_TIMEOUT_SECONDS
from tools.rebase.replay import PickConflict, accept_resolution, prepare, replay
from tools.rebase.result import result_files
from tools.rebase.state import Folder, RebaseError, State, Step
from tools.rebase.trial import copy_checkout
from tools.series.check import patch_bytes
from tools.series.repository import folder_digest
from tools.upstream.fetch import released_versions

__all__ = ["rehearse", "transplant"]


def transplant(project: Project, version: str) -> list[str]:
    """Put a project's series, lock and version on an older release; nothing is built or tested.

    Args:
        project: a scratch copy.
        version: upstream's older version.

    Returns:
        Patches that had to be placed by rule, because upstream's text beside them was not there.

    Raises:
        RebaseError: a patch cannot be placed by that rule.
    """
    folder = Folder(project)
    old = lockfile.load(project.lock).version
    versions = path_of_versions(old, version, released_versions())
    state = State(
        phase="prepare",
        old=old,
        new=version,
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        digest=folder_digest(project),
        steps=[Step(one, "release") for one in versions],
    )
    git = Git(folder.repository)
    placed: list[str] = []
    folder.save(state)
    prepare(project, folder, state, git)
    while True:
        try:
            replay(project, folder, state, git)
            break
        except PickConflict as conflict:
            for path in dict.fromkeys(place.path for place in conflict.places):
                file = git.folder / path
                file.write_bytes(_placed_higher(conflict, path, file.read_bytes()))
            placed.append(conflict.name)
            accept_resolution(folder, state, git)
    for name, data in result_files(project, folder, state, git).items():
        if data is None:
            (project.root / name).unlink()
        else:
            (project.root / name).write_bytes(data)
    folder.remove()
    return placed


def _placed_higher(conflict: PickConflict, path: str, data: bytes) -> bytes:
    """Resolve regions where the patch only adds lines: they go above the line before the region.

    Who writes a patch on the older release has to put it somewhere near, and does not know what
    upstream will add; right beside it would be a conflict of the rehearsal's own making.
    """
    result: list[bytes] = []
    sides: dict[str, list[bytes]] = {}
    side = ""
    for line in data.splitlines(keepends=True):
        if line.startswith(b"<<<<<<< "):
            side, sides = "upstream", {"upstream": [], "base": [], "patch": []}
        elif side and line.startswith(b"||||||| "):
            side = "base"
        elif side and line == b"=======\n":
            side = "patch"
        elif side and line.startswith(b">>>>>>> "):
            added = [one for one in sides["patch"] if one not in sides["base"]]
            if len(added) + len(sides["base"]) != len(sides["patch"]) or not result:
                raise RebaseError(
                    f"patches/{conflict.name} cannot be put on {conflict.version} by rule: "
                    f"it changes lines of {path} that are others there"
                )
            result[-1:] = [*added, result[-1], *sides["upstream"]]
            side = ""
        elif side:
            sides[side].append(line)
        else:
            result.append(line)
    return b"".join(result)


def _commit_line(project: Project) -> list[str]:
    if not (project.root / ".git").exists():
        return []
    git = Git(project.root)
    changed = " and changes not committed" if git.lines("status", "--porcelain") else ""
    return [f"The checkout: commit {git.text('rev-parse', '--short=12', 'HEAD')}{changed}."]


def rehearse(
    project: Project, version: str, options: Sequence[str], record: Path | None
) -> tuple[int, str]:
    """Bring the series from an older release to the locked one, in a scratch copy.

    Args:
        project: the checkout; nothing in it is touched but the record.
        version: the older release.
        options: of ``start``, such as ``["--skip-regression"]``.
        record: file for the report.

    Returns:
        The command's exit status, and the report.
    """
    locked = lockfile.load(project.lock).version
    with tempfile.TemporaryDirectory(prefix="rebase-rehearsal-") as scratch:
        copy = Project(Path(scratch) / "project")
        copy_checkout(project, copy.root, {})
        if project.cache.is_dir():
            shutil.copytree(project.cache, copy.cache)
        before = patch_bytes(project)
        placed = transplant(copy, version)
        command = ["tools.rebase", "start", "--to", locked, *options]
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=copy.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CHECK_TIMEOUT_SECONDS,
            check=False,
        )
        output = (done.stdout + done.stderr).replace(scratch, "")
        reports = sorted(copy.reports.glob("rebase-*.md"))
        report = reports[0].read_text("utf-8") if reports else f"```\n{output.strip()}\n```\n"
        after = patch_bytes(copy)
    same = [name for name, data in before.items() if after.get(name) == data]
    other = [name for name in before if name not in same]
    lines = [
        f"Rehearsal: the series, put on {version}'s tree, was brought to {locked} by",
        f"`python -m {' '.join(command)}` alone; exit status {done.returncode}.",
        *_commit_line(project),
    ]
    if done.returncode == 0:
        others = f" Others: {', '.join(other)}." if other else ""
        lines += [
            "",
            f"Byte for byte the patches of the repository afterwards: {len(same)} of {len(before)}."
            f"{others}",
        ]
    if placed:
        lines.append(
            f"Placed a line higher on the old tree (see docs/rebase.md): {', '.join(placed)}."
        )
    text = "\n".join(lines) + "\n\n" + report
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(text, "utf-8")
    return done.returncode, text

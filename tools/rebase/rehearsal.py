"""Rehearse a rebase on real history: the series, written on an older release, brought to ours.

The older series is made from the present one by replaying it backwards, in a scratch copy. From
there the command alone has to bring it back, as it would have at the time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from buildsys import lock as lockfile
from tools.errors import RebaseError
from tools.git import Git
from tools.paths import Project
from tools.rebase.command import last_report, plan_to, start
from tools.rebase.conflict import REGION
from tools.rebase.replay import Conflict, Replay
from tools.rebase.result import result_of
from tools.rebase.state import Folder, Trial
from tools.rebase.trial import scratch_copy
from tools.series.repository import patch_bytes

__all__ = ["placed_higher", "rehearse", "transplant"]

#: Resolves the conflicts of one file: takes the conflict, the file's path and its text with marks.
Resolution = Callable[[Conflict, str, bytes], bytes]


def placed_higher(conflict: Conflict, path: str, data: bytes) -> bytes:
    """Resolve regions where the patch only adds lines: they go above the line before the region.

    The author of a patch on the older release would put it somewhere near, without knowing what
    upstream will add; right beside it would be a conflict of the rehearsal's own making. Below a
    line that opens a block they stay where they are, or they would leave it.

    Args:
        conflict: with the patch's name and the release.
        path: of the file.
        data: its text with marks.

    Raises:
        RebaseError: the patch changes lines of upstream's that are others there.
    """
    while (region := REGION.search(data)) is not None:
        base, patch = (region[side].splitlines(keepends=True) for side in ("base", "patch"))
        added = [line for line in patch if line not in base]
        above = data[: region.start()].splitlines(keepends=True)
        if len(added) + len(base) != len(patch) or not above:
            raise RebaseError(
                f"patches/{conflict.commit.name} cannot be put on {conflict.step.label} by rule: "
                f"it changes lines of {path} that are others there"
            )
        last = [] if above[-1].rstrip().endswith(b":") else [above.pop()]
        before = b"".join([*above, *added, *last])
        data = before + region["upstream"] + data[region.end() :]
    return data


def transplant(project: Project, version: str, resolution: Resolution = placed_higher) -> list[str]:
    """Put a project's series, lock and version on another release; nothing is built or tested.

    Args:
        project: a scratch copy.
        version: upstream's version.
        resolution: of each conflict.

    Returns:
        Patches that conflicted, in order.

    Raises:
        RebaseError: a conflict cannot be resolved.
    """
    folder = Folder(project)
    plan = plan_to(project, version, "", Trial())
    folder.save(plan)
    replay = Replay(folder, plan)
    placed: list[str] = []
    while (conflict := replay.run()) is not None:
        for path in dict.fromkeys(place.path for place in conflict.places):
            file = folder.repository / path
            file.write_bytes(resolution(conflict, path, file.read_bytes()))
        folder.git.run("add", "--update")
        placed.append(conflict.commit.name)
    folder.replacement.stage(result_of(project, replay).files)
    folder.replacement.decide()
    folder.remove()
    return placed


def rehearse(project: Project, version: str, trial: Trial, record: Path | None) -> int:
    """Bring the series from an older release to the locked one, in a scratch copy.

    Args:
        project: the checkout; nothing in it is touched but the record.
        version: the older release.
        record: file for the report.

    Returns:
        The command's exit status.
    """
    locked = lockfile.load(project.lock).version
    before = patch_bytes(project)
    with scratch_copy(project) as copy:
        placed = transplant(copy, version)
        status = start(copy, locked, "", trial)
        report, after = last_report(copy), patch_bytes(copy)
    lines = [
        f"Rehearsal: the series, put on {version}'s tree, was brought to {locked} by",
        f"`python -m tools.rebase start --to {locked}` alone; exit status {status}.",
    ]
    if (project.root / ".git").exists():
        git = Git(project.root)
        changed = " and changes not committed" if git.lines("status", "--porcelain") else ""
        head = git.text("rev-parse", "--short=12", "HEAD")
        lines.append(f"The checkout: commit {head}{changed}.")
    if status == 0:
        other = [name for name, data in before.items() if after.get(name) != data]
        same = f"{len(before) - len(other)} of {len(before)}."
        others = f" Others: {', '.join(other)}." if other else ""
        lines += ["", f"Byte for byte the patches of the repository afterwards: {same}{others}"]
    if placed:
        lines.append(
            f"Placed a line higher on the old tree (see docs/rebase.md): {', '.join(placed)}."
        )
    text = "\n".join(lines) + "\n\n" + report
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(text, "utf-8")
    print(text)
    return status

"""Rehearse a rebase on real history: the series, written on an older release, brought to ours.

The older series is made from the present one by replaying it backwards, in a scratch copy. From
there the command alone has to bring it back, as it would have at the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from tools.errors import RebaseError, ToolError
from tools.git import Git
from tools.paths import Project
from tools.rebase.command import last_report, plan_to, resume, start
from tools.rebase.conflict import REGION
from tools.rebase.replay import Conflict, Replay
from tools.rebase.resolutions import Resolutions
from tools.rebase.result import result_of
from tools.rebase.state import Folder, Step, Trial
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


def transplant(
    project: Project,
    version: str,
    resolution: Resolution = placed_higher,
    recorded: Resolutions | None = None,
) -> list[str]:
    """Put a project's series, lock and version on another release; nothing is built or tested.

    Args:
        project: a scratch copy.
        version: upstream's version.
        resolution: of each conflict that is not on record.
        recorded: resolutions on record; None for none.

    Returns:
        Patches whose conflicts were not on record, in order.

    Raises:
        RebaseError: a conflict cannot be resolved.
    """
    folder = Folder(project)
    plan = plan_to(project, version, "", Trial())
    folder.save(plan)
    replay = Replay(folder, plan)
    placed: list[str] = []
    while (conflict := replay.run()) is not None:
        if not _resolve(folder, conflict, resolution, recorded):
            placed.append(conflict.commit.name)
    folder.replacement.stage(result_of(project, replay).files)
    folder.replacement.decide()
    folder.remove()
    return placed


def _resolve(
    folder: Folder, conflict: Conflict, resolution: Resolution, recorded: Resolutions | None
) -> bool:
    """Resolve a conflict and add the files; returns whether it was on record."""
    if recorded is not None and recorded.resolve(folder.git, conflict):
        return True
    for path in dict.fromkeys(place.path for place in conflict.places):
        file = folder.repository / path
        file.write_bytes(resolution(conflict, path, file.read_bytes()))
    folder.git.run("add", "--update")
    return False


def rehearse(project: Project, version: str, trial: Trial, record: Path | None) -> int:
    """Bring the series from an older release to the locked one, in a scratch copy.

    Args:
        project: the checkout; nothing in it is touched but the record.
        version: the older release.
        record: file for the report.

    Returns:
        The command's exit status; 1 also when another series comes back, or when a resolution on
        record is not needed; 2 when one no longer applies.
    """
    recorded = Resolutions(project)
    with scratch_copy(project) as copy:
        try:
            status, lines = _there_and_back(project, copy, version, trial, recorded)
        except (BuildError, OSError, ToolError) as error:
            status, lines = 2, [f"**The rehearsal could not be carried out**: {error}"]
        text = "\n".join(lines) + "\n\n" + last_report(copy)
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(text, "utf-8")
    print(text)
    return status


def _there_and_back(
    project: Project, copy: Project, version: str, trial: Trial, recorded: Resolutions
) -> tuple[int, list[str]]:
    """Rehearse in the copy; returns the exit status and what the report says of it."""
    locked, checkout = lockfile.load(project.lock).version, _checkout_lines(project)
    steps = plan_to(copy, version, "", trial).steps
    placed = transplant(copy, version, recorded=recorded)
    status = start(copy, locked, "", trial)
    folder, by_rule = Folder(copy), list[str]()
    while status == 1 and (conflict := Replay(folder, folder.load()).stopped()) is not None:
        if not _resolve(folder, conflict, placed_higher, recorded):
            by_rule.append(f"`{conflict.commit.name}` on {conflict.step.label}")
        status = resume(copy)
    lines = [
        f"Rehearsal: the series, put on {version}'s tree, was brought to {locked} by",
        f"`python -m tools.rebase start --to {locked}`; exit status {status}.",
        *checkout,
        "",
        *(f"- Resolved from record: `{name}`." for name in recorded.used),
        *(f"- Placed higher on the old tree (see docs/rebase.md): `{name}`." for name in placed),
        *(f"- Resolved by the same rule: {name}." for name in by_rule),
    ]
    if status == 0:
        findings = [*_differences(project, copy), *_unneeded(recorded, steps)]
        lines += findings or ["- Byte for byte the patches of the repository afterwards."]
        status = 1 if findings else 0
    return status, lines


def _checkout_lines(project: Project) -> list[str]:
    if not (project.root / ".git").exists():
        return []
    git = Git(project.root)
    changed = " and changes not committed" if git.lines("status", "--porcelain") else ""
    return [f"The checkout: commit {git.text('rev-parse', '--short=12', 'HEAD')}{changed}."]


def _differences(project: Project, copy: Project) -> list[str]:
    """Name the patches that are other bytes after the way there and back."""
    before, after = patch_bytes(project), patch_bytes(copy)
    other = [name for name, data in before.items() if after.get(name) != data]
    return [f"- **Other bytes than in the repository**: `{name}`." for name in other]


def _unneeded(recorded: Resolutions, steps: Sequence[Step]) -> list[str]:
    return [f"- **Not needed any more**: `{name}`; remove it." for name in recorded.unneeded(steps)]

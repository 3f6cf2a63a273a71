"""Resolutions on record: the text of a patch for one step between two releases.

A rehearsal meets the conflicts that a maintainer has resolved before, so it resolves them in the
same way. What the maintainer typed is in a file for each step and patch::

    tools/rebase/recorded/1.23.0-to-1.22.0/executor-class.patch

The file is the patch as it is on the second release, as a diff, without a header. Its line numbers
may be off. Its context and removed lines may not, so a resolution never applies to other text.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from tools.errors import GitError, RebaseError
from tools.git import Git
from tools.paths import Project
from tools.rebase.replay import Conflict
from tools.rebase.state import Step

__all__ = ["Resolutions"]

_FOLDER = Path("tools") / "rebase" / "recorded"


class Resolutions:
    """Resolutions that a checkout records.

    Args:
        project: the checkout.

    Attributes:
        used: the recorded files that have resolved a conflict, relative to the checkout.
    """

    def __init__(self, project: Project) -> None:
        self._root = project.root
        self.used: list[str] = []

    def resolve(self, git: Git, conflict: Conflict) -> bool:
        """Resolve a conflict in the work tree and the index, if there is a record for it.

        Args:
            git: the repository with the started pick.
            conflict: what the pick stopped at.

        Returns:
            Whether there is a record.

        Raises:
            RebaseError: the record does not apply.
        """
        name = self._name(conflict.before, conflict.step, conflict.commit.name)
        file = self._root / name
        if not file.is_file():
            return False
        git.run("read-tree", "--reset", "-u", "HEAD")
        try:
            git.run("apply", "--index", "--recount", str(file))
        except GitError as error:
            raise RebaseError(
                f"{name} no longer applies to {conflict.step.label}: {error.output.strip()}\n"
                f"Write the patch's text on {conflict.step.label} anew."
            ) from None
        self.used.append(name)
        return True

    def unneeded(self, steps: Sequence[Step]) -> list[str]:
        """List the records of a way, there and back, that have resolved nothing.

        Args:
            steps: the bases that were passed through.
        """
        pairs = [*itertools.pairwise(steps), *itertools.pairwise(reversed(steps))]
        recorded = [
            self._name(before, step, file.name)
            for before, step in pairs
            for file in sorted((self._root / self._name(before, step, "")).glob("*.patch"))
        ]
        return [name for name in recorded if name not in self.used]

    def _name(self, before: Step, step: Step, patch: str) -> str:
        return (_FOLDER / f"{before.label}-to-{step.label}" / patch).as_posix()

"""The ``.rebase`` folder of a checkout: the plan of a started rebase, and all that it makes."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field

from tools.errors import RebaseError
from tools.git import Git
from tools.paths import Project

__all__ = ["Folder", "Plan"]

# Conflicts that git has seen resolved (rerere). It outlives a rebase, so that a second start does
# not ask again.
_RESOLUTIONS = "rr-cache"


@dataclass
class Plan:
    """Request of a rebase, and the patches at which it has stopped so far.

    Attributes:
        date: ISO date of the start, for the report.
        digest: of the series and the lock in the checkout, as they were at the start.
        versions: upstream's versions to pass through; the series is written on the first.
        skip_contract: leave out the contract suite and the search for redundant patches.
        skip_regression: leave upstream's own tests out.
        borrow_packages: test with the packages of the environment the command runs in.
        stops: version and patch of every conflict.
    """

    date: str
    digest: str
    versions: list[str]
    skip_contract: bool = False
    skip_regression: bool = False
    borrow_packages: bool = False
    stops: list[list[str]] = field(default_factory=list)

    @property
    def old(self) -> str:
        """The version the series comes from."""
        return self.versions[0]

    @property
    def new(self) -> str:
        """The version it goes to."""
        return self.versions[-1]


class Folder:
    """The ``.rebase`` folder.

    Args:
        project: the checkout.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.path = project.root / ".rebase"
        self.plan_file = self.path / "plan.json"
        self.git = Git(self.path / "repo")
        self.copy = self.path / "copy"
        self.logs = self.path / "logs"
        self.report = self.path / "report.md"

    def load(self) -> Plan:
        """Return the plan of the started rebase.

        Raises:
            RebaseError: there is none, or the file is damaged.
        """
        try:
            return Plan(**json.loads(self.plan_file.read_text("utf-8")))
        except FileNotFoundError:
            raise RebaseError("no rebase is under way; make rebase-upstream starts one") from None
        except (ValueError, TypeError) as error:
            raise RebaseError(
                f"{self.plan_file}: damaged, or of another version ({error}); make rebase-abort"
            ) from None

    def save(self, plan: Plan) -> None:
        """Write the plan."""
        self.path.mkdir(exist_ok=True)
        self.plan_file.write_text(json.dumps(asdict(plan), indent=2), "utf-8")

    def share_resolutions(self) -> None:
        """Let the scratch repository remember resolutions for longer than it exists."""
        cache = self.path / _RESOLUTIONS
        cache.mkdir(exist_ok=True)
        (self.git.git_dir / _RESOLUTIONS).symlink_to(cache)

    def remove(self) -> None:
        """Remove everything but the resolutions."""
        for path in self.path.iterdir() if self.path.is_dir() else ():
            if path.name != _RESOLUTIONS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

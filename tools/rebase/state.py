"""State of a started rebase: its plan, which never changes, and a scratch repository.

The repository's refs, which git replaces one by one and whole, say how far it has come:

upstream/LABEL          a base
series/LABEL            the series on it, finished
picks/STEP/NUMBER/...   the outcome of one patch, and the last commit after it
conflict                the commit that a person has been asked about
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import NamedTuple

from tools.command import inherited
from tools.errors import RebaseError
from tools.git import Git
from tools.paths import Project
from tools.replacement import Replacement

__all__ = ["KILL_VARIABLE", "POINTS", "Folder", "Plan", "Step", "Trial", "reached"]

# Seconds to wait for a child (git, pip, pytest) that an interrupted run has left at work.
LOCK_TIMEOUT_SECONDS = 120.0

# The places between two steps of a rebase at which a test has the process killed: something has
# just become durable, or is just about to. The variable gives the point's name.
KILL_VARIABLE = "SMOLAGENTS_FORK_REBASE_KILL_AT"
POINTS = tuple(
    "planned series-committed base-committed picked resolved step-finished "
    "staged tests-run decided replaced reported".split()
)


def reached(point: str) -> None:
    """End the process with SIGKILL if the environment asks for it at this point."""
    if point not in POINTS:
        raise ValueError(f"{point!r} is not a known point")
    if os.environ.get(KILL_VARIABLE) == point:
        os.kill(os.getpid(), signal.SIGKILL)


class Step(NamedTuple):
    """A base to pass through: upstream's version, from its ``release`` or from a tag in ``git``."""

    version: str
    source: str = "release"

    @property
    def label(self) -> str:
        """The base's name in messages and refs."""
        return self.version if self.source == "release" else f"{self.version}-git"

    @property
    def base(self) -> str:
        """The ref of the base."""
        return f"refs/tags/upstream/{self.label}"

    @property
    def series(self) -> str:
        """The ref of the series on it."""
        return f"refs/tags/series/{self.label}"


@dataclass(frozen=True)
class Trial:
    """The options that say how a result is tried out.

    Attributes:
        skip_regression: leave upstream's own tests out.
        regression_test: only these of upstream's tests; empty for all.
        borrow_packages: test with the packages of the environment the command runs in.
        skip_contract: leave out the contract suite and the search for redundant patches.
    """

    skip_regression: bool = False
    regression_test: tuple[str, ...] = ()
    borrow_packages: bool = False
    skip_contract: bool = False


@dataclass(frozen=True)
class Plan:
    """Specification that was asked for.

    Attributes:
        date: ISO date of the start, for the changelog.
        digest: of the series and the lock in the checkout, as they were at the start.
        steps: the bases; the first is the one the series is written on.
        upstream_git: repository with upstream's tags; empty for releases.
        trial: how to try the result out.
    """

    date: str
    digest: str
    steps: tuple[Step, ...]
    upstream_git: str = ""
    trial: Trial = Trial()

    @property
    def old(self) -> str:
        """The version the series comes from."""
        return self.steps[0].version

    @property
    def new(self) -> str:
        """The version it goes to."""
        return self.steps[-1].version


def _checked(plan: Plan) -> Plan:
    """Return a plan whose values have the types that a saved one has.

    Raises:
        TypeError: a value has another type.
    """
    trial = plan.trial
    texts = [
        plan.date,
        plan.digest,
        plan.upstream_git,
        *(part for step in plan.steps for part in step),
    ]
    flags = [trial.skip_regression, trial.borrow_packages, trial.skip_contract]
    if not all(isinstance(one, str) for one in [*texts, *trial.regression_test]):
        raise TypeError("a text is missing")
    if not plan.steps or not all(isinstance(one, bool) for one in flags):
        raise TypeError("there are no steps, or a flag is not true or false")
    return plan


class Folder:
    """The ``.rebase`` folder of a checkout."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.path = project.root / ".rebase"
        self.plan_file = self.path / "plan.json"
        self.repository = self.path / "repo"
        self.git = Git(self.repository)
        self.replacement = Replacement(project.root, self.path / "result", reached)
        self.copy = self.path / "copy"
        self.logs = self.path / "logs"
        self.report = self.path / "report.md"
        # Beside the folder, because the folder comes and goes.
        self.lock_file = project.build / "rebase.lock"

    def load(self) -> Plan:
        """Return the plan of the started rebase.

        Raises:
            RebaseError: there is none, or the file is damaged.
        """
        try:
            data = json.loads(self.plan_file.read_text("utf-8"))
            data["steps"] = tuple(Step(*step) for step in data["steps"])
            data["trial"] = Trial(**data["trial"])
            return _checked(Plan(**data))
        except FileNotFoundError:
            raise RebaseError("no rebase is under way; make rebase-upstream starts one") from None
        except (ValueError, TypeError, KeyError) as error:
            raise RebaseError(
                f"{self.plan_file}: damaged, or of another version ({error}); make rebase-abort"
            ) from None

    def save(self, plan: Plan) -> None:
        """Write the plan; a crash leaves all of it or nothing."""
        self.path.mkdir(exist_ok=True)
        draft = self.path / "plan.tmp"
        draft.write_text(json.dumps(asdict(plan), indent=2), "utf-8")
        draft.replace(self.plan_file)
        reached("planned")

    def remove(self) -> None:
        """Remove the folder; the plan goes first, so that half a folder is not a started rebase."""
        self.plan_file.unlink(missing_ok=True)
        if self.path.exists():
            shutil.rmtree(self.path)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Take the rebase's lock; yields its descriptor, which every program inherits.

        So a program that outlives a killed run keeps the next run out until it ends, and two never
        work in the folder at once. The kernel drops the lock of the dead.

        Raises:
            RebaseError: another run has kept it for longer than the deadline.
        """
        self.lock_file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._wait_for_lock(descriptor)
            inherited.append(descriptor)
            yield descriptor
        finally:
            if descriptor in inherited:
                inherited.remove(descriptor)
            os.close(descriptor)

    def _wait_for_lock(self, descriptor: int) -> None:
        deadline = None
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if deadline is None:
                    print("another rebase command is at work; waiting for it", flush=True)
                    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
            if time.monotonic() > deadline:
                raise RebaseError(
                    f"{self.lock_file}: another rebase command, or a child of one that was "
                    f"killed, has been at work for {LOCK_TIMEOUT_SECONDS:.0f} seconds; wait for "
                    f"it or end it (fuser {self.lock_file}), then try again"
                )
            time.sleep(0.1)

"""What a started rebase remembers: one JSON file, replaced whole at every step."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.paths import Project

__all__ = ["Folder", "Pick", "RebaseError", "State", "Step"]

FORMAT = 1

# Seconds to wait for a child (git, pip, pytest) that an interrupted run has left at work.
LOCK_TIMEOUT_SECONDS = 120.0


class RebaseError(Exception):
    """The rebase cannot go on; the message says why and what to do."""


@dataclass
class Pick:
    """What became of one patch on one base.

    Attributes:
        name: the patch's file name.
        outcome: ``clean``, ``resolved`` (by hand), ``empty`` (dropped) or ``skipped`` (by hand).
    """

    name: str
    outcome: str


@dataclass
class Step:
    """One base on the way.

    Attributes:
        version: upstream's version.
        source: ``release`` or ``git``.
        picks: the patches replayed onto it so far.
    """

    version: str
    source: str
    picks: list[Pick] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The base's name in messages and refs."""
        return self.version if self.source == "release" else f"{self.version}-git"


@dataclass
class State:
    """Everything that ``continue`` and ``abort`` need.

    Attributes:
        phase: ``prepare``, ``replay``, ``conflict``, ``resolved``, ``verify``, ``failed`` or
            ``write``.
        old: version the series comes from.
        new: version it goes to.
        date: ISO date of the start, for the changelog.
        digest: of the checkout's files that will be replaced, as they were at the start.
        steps: the bases; the first is the one the series stands on.
        at: index of the step being replayed onto.
        queue: commits of the step before that are still to be replayed, oldest first.
        tip: last commit that is finished on the current base.
        resolved: tree of a resolution by hand, once accepted and until committed.
        upstream_git: repository with upstream's tags; empty for releases.
        options: how to verify (``skip_regression``, ``borrow_packages``).
        notes: what a reader of the report should know, in order.
        prune_dropped: entries of prune.list that the new release does not have.
        prune_added: stray files found in the new release.
        tried: digest of the copy of the checkout that was tried out and found good.
        busy: a process of ours is at work; found True at a start, it was killed.
    """

    phase: str
    old: str
    new: str
    date: str
    digest: str
    steps: list[Step]
    at: int = 0
    queue: list[str] = field(default_factory=list)
    tip: str = ""
    resolved: str = ""
    upstream_git: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    prune_dropped: list[str] = field(default_factory=list)
    prune_added: list[str] = field(default_factory=list)
    tried: str = ""
    busy: bool = True

    def note(self, text: str) -> None:
        """Keep a note for the report, once even if a step is done again after a crash."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def step(self) -> Step:
        """The base being replayed onto."""
        return self.steps[self.at]


class Folder:
    """The ``.rebase`` folder of a checkout.

    Args:
        project: the checkout.
    """

    def __init__(self, project: Project) -> None:
        self.path = project.root / ".rebase"
        self.state_file = self.path / "state.json"
        self.repository = self.path / "repo"
        self.journal = self.path / "write.journal"
        self.before = self.path / "before"
        self.copy = self.path / "copy"
        self.tests = self.path / "tests"
        self.wheels = self.path / "wheel"
        self.environment = self.path / "venv"
        self.logs = self.path / "logs"
        self.report = self.path / "report.md"
        # Beside the folder, because the folder comes and goes.
        self.lock_file = project.build / "rebase.lock"

    def load(self) -> State | None:
        """The state of the started rebase, or None when there is none.

        Raises:
            RebaseError: the file is damaged, or another version of this tool wrote it.
        """
        try:
            data = json.loads(self.state_file.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RebaseError(f"{self.state_file}: not JSON ({error}); make rebase-abort") from None
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise RebaseError(f"{self.state_file}: expected format {FORMAT}; make rebase-abort")
        data["steps"] = [
            Step(step["version"], step["source"], [Pick(**pick) for pick in step["picks"]])
            for step in data["steps"]
        ]
        return State(**data)

    def save(self, state: State) -> None:
        """Replace the state file; a crash leaves the old or the new one, never a mixture."""
        self.path.mkdir(exist_ok=True)
        draft = self.path / "state.tmp"
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, **asdict(state)}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.state_file)

    def remove(self) -> None:
        """Remove the folder; the state goes first, so that half a folder is no started rebase."""
        self.state_file.unlink(missing_ok=True)
        if self.path.exists():
            shutil.rmtree(self.path)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the rebase's lock; yields its descriptor, for children to inherit.

        Because children inherit it, one that outlives a killed run keeps the next run out until
        it ends, and two never work in the folder at once. The kernel drops the lock of the dead.

        Raises:
            RebaseError: another run holds it for longer than the deadline.
        """
        self.lock_file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
            told = False
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise RebaseError(
                            f"{self.lock_file}: another rebase command, or a child of one that "
                            f"was killed, has been at work for {LOCK_TIMEOUT_SECONDS:.0f} seconds; "
                            f"wait for it or end it (fuser {self.lock_file}), then try again"
                        ) from None
                    if not told:
                        print("another rebase command is at work; waiting for it", flush=True)
                        told = True
                    time.sleep(0.1)
            yield descriptor
        finally:
            os.close(descriptor)

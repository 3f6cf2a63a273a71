"""Run upstream's tests on both sides, which overlap."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tools.command import Command, run
from tools.errors import CommandError, SuiteError
from tools.junit import Outcome, read_junit
from tools.regression.comparison import MISSING
from tools.regression.environments import Side, Twins
from tools.regression.settings import OVERLAY, PROJECT, environment_of_a_run

__all__ = ["Runner"]

# Seconds. Upstream's slowest test takes 8, of which a busy machine makes minutes; the whole suite 2
# minutes a side on two slow cores.
TEST_TIMEOUT_SECONDS = 300
SIDE_TIMEOUT_SECONDS = 1200.0
# Seconds that the fork's side waits for pristine's to compile what both import.
HALFWAY_TIMEOUT_SECONDS = 600.0

# pytest: 0 all passed, 1 some failed; alone, a test may also be gone (4, 5) or its file unreadable.
_RAN = (0, 1)
_RAN_ALONE = (0, 1, 2, 4, 5)

# File in a side's home that the first half of its tests leaves.
HALFWAY = "halfway"

# Name of the fork's run as a whole where it came to no end.
THE_RUN = "tests::the run itself"

_PYTEST = (
    *("-m", "pytest", "-c", "pytest.ini", "--rootdir", ".", "-q", "--tb=short"),
    *("-p", "pytest_timeout", "--timeout", str(TEST_TIMEOUT_SECONDS)),
    *("-p", "xdist", "-p", "no:cacheprovider", "--continue-on-collection-errors"),
)

# Prints the version of smolagents, and for each name where a side imports it from.
_ORIGIN = """
import importlib.metadata, importlib.util, json, sys
found = {name: importlib.util.find_spec(name) for name in sys.argv[1:]}
origins = {name: spec.origin if spec else None for name, spec in found.items()}
print(json.dumps([importlib.metadata.version("smolagents"), origins]))
"""
# What a wheel of either side may bring.
_NAMES = ("smolagents", "smolagents_fork")

_Outcomes = dict[str, Outcome]


class Runner(NamedTuple):
    """Runs tests of one unpacked release on two sides.

    Attributes:
        twins: the environments.
        tests: upstream's unpacked ``tests`` folder.
        folder: where to lay the test trees, logs and JUnit files.
        network: let test processes reach other machines.
        run_all: run what upstream marks ``require_run_all``.
    """

    twins: Twins
    tests: Path
    folder: Path
    network: bool = False
    run_all: bool = False

    def prepare(self) -> None:
        """Lay out both trees and check that each side imports its own smolagents.

        Raises:
            SuiteError: a side would import another copy, another version, or other files than
                those of its wheel.
        """
        ignored = shutil.ignore_patterns("__pycache__")
        for side in (self.twins.pristine, self.twins.fork):
            root = self.folder / side.name
            shutil.rmtree(root, ignore_errors=True)
            for source, name in ((self.tests, "tests"), (OVERLAY, "tests"), (PROJECT, ".")):
                shutil.copytree(source, root / name, dirs_exist_ok=True, ignore=ignored)
            (root / "wheel").mkdir()
            shutil.copy(side.wheel, root / "wheel")
            (root / "pytest.ini").write_text("[pytest]\n", "utf-8")
            env = self._environment(side, root)
            _check_origin(side, root, env)

    def run(self, selection: Sequence[str] = ()) -> tuple[_Outcomes, _Outcomes]:
        """Run tests on both sides and return the outcomes, pristine first.

        The fork's side begins when pristine's has run half of its tests: by then the packages that
        both import are compiled, which both would do otherwise.

        Args:
            selection: test files below ``tests`` or test ids; empty for all.

        Raises:
            CommandError: pristine's run came to no end. The fork's is one more failing test then.
        """
        return self._both(selection or ["tests"], "all", ("-n", "1"), _RAN)

    def run_fork(self) -> _Outcomes:
        """Run all tests on the fork's side and return the outcomes.

        A run that came to no end is one failing test.
        """
        with ExitStack() as stack:
            started = self._start(stack, self.twins.fork, ["tests"], "all", ("-n", "1"))
            return _fork_finished(*started[:2], _RAN)

    def run_alone(self, test: str, attempt: int) -> tuple[Outcome, Outcome]:
        """Run one test in a process of its own on both sides, pristine first.

        Args:
            test: its id.
            attempt: number of the attempt, for the names of logs.
        """
        pristine, fork = self._both([test], f"again{attempt}", ("-n", "0"), _RAN_ALONE)
        return pristine.get(test, MISSING), fork.get(test, MISSING)

    def _both(
        self, selection: Sequence[str], label: str, options: Sequence[str], accepted: Sequence[int]
    ) -> tuple[_Outcomes, _Outcomes]:
        with ExitStack() as stack:
            pristine, junit, home = self._start(
                stack, self.twins.pristine, selection, label, options
            )
            _await_half(pristine, home)
            fork = self._start(stack, self.twins.fork, selection, label, options)
            first = _finished(pristine, junit, accepted)
            return first, _fork_finished(*fork[:2], accepted)

    def _start(
        self,
        stack: ExitStack,
        side: Side,
        selection: Sequence[str],
        label: str,
        options: Sequence[str],
    ) -> tuple[Command, Path, Path]:
        """Start a side's run; return it, its JUnit file and its home.

        Leaving the stack, by an interrupt too, ends a run that goes on and removes its home.
        """
        # A short path: sockets in a temporary folder may have 108 characters at most.
        home = Path(tempfile.mkdtemp(prefix="up-"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        junit = self.folder / f"{side.name}-{label}.xml"
        junit.unlink(missing_ok=True)
        command = Command(
            [side.python, *_PYTEST, *options, f"--junitxml={junit}", *selection],
            timeout_seconds=SIDE_TIMEOUT_SECONDS,
            cwd=self.folder / side.name,
            env=self._environment(side, home),
            log=self.folder / f"{side.name}-{label}.log",
        )
        return stack.enter_context(command), junit, home

    def _environment(self, side: Side, home: Path) -> dict[str, str]:
        return environment_of_a_run(
            os.environ,
            python=side.python,
            shared=self.twins.shared,
            home=home,
            port_lock=self.folder / "port.lock",
            halfway=home / HALFWAY,
            network=self.network,
            run_all=self.run_all,
        )


def _check_origin(side: Side, root: Path, env: Mapping[str, str]) -> None:
    """Check that a side imports the files of its wheel, from its own environment.

    Raises:
        SuiteError: it does not.
    """
    command: list[str | Path] = [side.python, "-c", _ORIGIN, *_NAMES]
    answer = run(command, timeout_seconds=60, cwd=root, env=env)
    version, origins = json.loads(answer.splitlines()[-1])
    environment = side.python.parent.parent.resolve()
    with zipfile.ZipFile(side.wheel) as wheel:
        texts = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(".py")}
    for package in _NAMES:
        origin = Path(origins[package] or "nowhere")
        expected = f"expected {side.version} below {environment}"
        if f"{package}/__init__.py" not in texts:
            if origins[package] is None:
                continue
            expected = "expected none: its wheel has no such package"
        elif origin.resolve().is_relative_to(environment) and version == side.version:
            site = origin.parent.parent
            modules = (name for name in texts if name.startswith(f"{package}/"))
            other = [name for name in modules if not _has_bytes(site / name, texts[name])]
            if not other:
                continue
            expected = f"expected the files of {side.wheel.name}, of which {other[0]} differs"
        raise SuiteError(
            f"the {side.name} side would test {package} {version} at {origin}; {expected}"
        )


def _has_bytes(path: Path, expected: bytes) -> bool:
    return path.is_file() and path.read_bytes() == expected


def _await_half(command: Command, home: Path) -> None:
    """Wait until a side has run half of its tests, or has ended, or takes too long."""
    deadline = time.monotonic() + HALFWAY_TIMEOUT_SECONDS
    while not (home / HALFWAY).exists() and not command.has_ended():
        if time.monotonic() > deadline:
            return
        time.sleep(0.2)


def _fork_finished(command: Command, junit: Path, accepted: Sequence[int]) -> _Outcomes:
    """Wait for the fork's side; a run that came to no end is one failing test.

    Pristine ran, so the machine is well: a fork on which nothing runs is the worst difference there
    is, and no reason to say nothing about it.
    """
    try:
        return _finished(command, junit, accepted)
    except (CommandError, SuiteError) as error:
        return {THE_RUN: Outcome("error", str(error))}


def _finished(command: Command, junit: Path, accepted: Sequence[int]) -> _Outcomes:
    command.wait(accepted)
    if accepted is _RAN_ALONE and not (junit.exists() and "<testcase" in junit.read_text("utf-8")):
        return {}
    return read_junit(junit)

"""Run upstream's tests on both sides, one after the other."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.command import run
from tools.errors import CommandError, SuiteError
from tools.junit import Outcome, read_junit
from tools.regression.comparison import MISSING
from tools.regression.environments import Environment, Side
from tools.regression.settings import OVERLAY, PROJECT, environment_of_a_run

__all__ = ["Runner"]

# Seconds. Upstream's slowest test takes 8, of which a busy machine makes minutes; the whole suite 2
# minutes a side on two slow cores.
TEST_TIMEOUT_SECONDS = 300
SIDE_TIMEOUT_SECONDS = 1200.0

# Alone, a test may also be gone, or its file unreadable.
_RAN = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
_RAN_ALONE = set(pytest.ExitCode) - {pytest.ExitCode.INTERNAL_ERROR}

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
        environment: the environment, in which the sides take turns.
        pristine: upstream's side.
        fork: the side under test.
        tests: upstream's unpacked ``tests`` folder.
        folder: where to lay the test trees, logs and JUnit files.
        network: let test processes reach other machines.
        run_all: run what upstream marks ``require_run_all``.
    """

    environment: Environment
    pristine: Side
    fork: Side
    tests: Path
    folder: Path
    network: bool = False
    run_all: bool = False

    def run_pristine(self, selection: Sequence[str] = ()) -> _Outcomes:
        """Run tests on upstream's side and return the outcomes.

        Args:
            selection: test files below ``tests`` or test ids; empty for all.

        Raises:
            CommandError: the run came to no end.
            SuiteError: the side would import another copy, another version, or other files than
                those of its wheel.
        """
        self._prepare(self.pristine)
        return self._run(self.pristine, selection or ["tests"], "all", ("-n", "1"), _RAN)

    def run_fork(self, selection: Sequence[str] = ()) -> _Outcomes:
        """Run tests on the fork's side and return the outcomes.

        A run that came to no end is one failing test: a fork on which nothing runs is the worst
        difference there is, and no reason to say nothing about it.

        Args:
            selection: see :meth:`run_pristine`.

        Raises:
            SuiteError: see :meth:`run_pristine`.
        """
        self._prepare(self.fork)
        try:
            return self._run(self.fork, selection or ["tests"], "all", ("-n", "1"), _RAN)
        except (CommandError, SuiteError) as error:
            return {THE_RUN: Outcome("error", str(error))}

    def run_alone(self, test: str, attempt: int) -> tuple[Outcome, Outcome]:
        """Run one test in a process of its own on both sides, pristine first.

        Args:
            test: its id.
            attempt: number of the attempt, for the names of logs.
        """
        outcomes = []
        for side in (self.pristine, self.fork):
            self._prepare(side)
            side_outcomes = self._run(side, [test], f"again{attempt}", ("-n", "0"), _RAN_ALONE)
            outcomes.append(side_outcomes.get(test, MISSING))
        pristine, fork = outcomes
        return pristine, fork

    def _prepare(self, side: Side) -> None:
        """Lay out a side's tree, install its smolagents, and check that it is imported."""
        root = self.folder / side.name
        shutil.rmtree(root, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__")
        for source, name in ((self.tests, "tests"), (OVERLAY, "tests"), (PROJECT, ".")):
            shutil.copytree(source, root / name, dirs_exist_ok=True, ignore=ignored)
        (root / "wheel").mkdir()
        shutil.copy(side.wheel, root / "wheel")
        (root / "pytest.ini").write_text("[pytest]\n", "utf-8")
        self.environment.use(side)
        _check_origin(side, self.environment.python, root, self._variables(root))

    def _run(
        self,
        side: Side,
        selection: Sequence[str],
        label: str,
        options: Sequence[str],
        accepted: Collection[int],
    ) -> _Outcomes:
        junit = self.folder / f"{side.name}-{label}.xml"
        junit.unlink(missing_ok=True)
        # A short path: sockets in a temporary folder may have 108 characters at most.
        with tempfile.TemporaryDirectory(prefix="up-", ignore_cleanup_errors=True) as home:
            run(
                [self.environment.python, *_PYTEST, *options, f"--junitxml={junit}", *selection],
                timeout_seconds=SIDE_TIMEOUT_SECONDS,
                cwd=self.folder / side.name,
                env=self._variables(Path(home)),
                log=self.folder / f"{side.name}-{label}.log",
                accepted=accepted,
            )
        is_alone = accepted is _RAN_ALONE
        if is_alone and not (junit.exists() and "<testcase" in junit.read_text("utf-8")):
            return {}
        return read_junit(junit)

    def _variables(self, home: Path) -> dict[str, str]:
        return environment_of_a_run(
            os.environ,
            python=self.environment.python,
            home=home,
            network=self.network,
            run_all=self.run_all,
        )


def _check_origin(side: Side, python: Path, root: Path, env: Mapping[str, str]) -> None:
    """Check that a side imports the files of its wheel, from the environment.

    Raises:
        SuiteError: it does not.
    """
    command: list[str | Path] = [python, "-c", _ORIGIN, *_NAMES]
    answer = run(command, timeout_seconds=60, cwd=root, env=env)
    version, origins = json.loads(answer.splitlines()[-1])
    environment = python.parent.parent.resolve()
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

"""The suite on the real release: what is broken is caught, what is whole passes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from private_index import write_wheel_of
from rich.console import Console
from whole_contract import WHOLE

from tools.paths import CACHE
from tools.regression import Kind, Report, SuiteError, environments, run
from tools.regression.comparison import compare
from tools.regression.environments import Environment, Side
from tools.regression.execution import THE_RUN, Runner
from tools.upstream.fetch import fetch_wheel
from tools.uv import Uv

pytestmark = [pytest.mark.broad, pytest.mark.network, pytest.mark.slow]

LOCKED = json.loads((Path(__file__).parents[2] / "upstream.lock").read_text("utf-8"))["version"]


def altered(wheel: Path, folder: Path, module: str, code: str) -> Path:
    """A copy of a wheel with code added at the end of a module, and a RECORD that is right."""
    with zipfile.ZipFile(wheel) as source:
        files = {name: source.read(name) for name in source.namelist() if name[-7:] != "/RECORD"}
    files[module] += code.encode()
    return write_wheel_of(folder, "smolagents", LOCKED, files)


# Takes the choices out of every schema. One test is about them: each difference is run again.
BREAK = """

_whole = get_json_schema


def get_json_schema(func):
    schema = _whole(func)
    for one in schema["function"]["parameters"]["properties"].values():
        one.pop("enum", None)
    return schema
"""
TESTS = "test_function_type_hints_utils.py"


def compared(wheel: Path, folder: Path, **options: Any) -> Report:
    """Run the suite with the packages that these tests of upstream's need, and no others."""
    console = Console(record=True, width=120)
    with pytest.MonkeyPatch.context() as patch:
        kept = [one for one in environments.REQUIREMENTS if one.startswith("pytest")]
        patch.setattr(environments, "REQUIREMENTS", kept)
        patch.setattr(environments, "EXTRAS", ["vision"])
        patch.setattr(environments, "OPTIONAL", {})
        report = run(
            fork_wheel=wheel,
            tests=[TESTS],
            folder=folder,
            console=console,
            **options,
        )
    (folder / "shown.txt").write_text(console.export_text(), "utf-8")
    return report


class Suite(NamedTuple):
    """A finished run of the suite, and the same two sides to run other tests on."""

    report: Report
    folder: Path
    runner: Runner

    def with_broken(self, module: str, folder: Path) -> Runner:
        """Return a runner whose fork raises when a module is imported."""
        wheel = altered(self.runner.pristine.wheel, folder, module, '\n\nraise OSError("broken")\n')
        return self.runner._replace(fork=Side("fork", wheel, LOCKED))


def again(runner: Runner, *names: str) -> Report:
    """Compare both sides of a runner."""
    tests = [f"tests/{name}" for name in names]
    found, stale = compare(runner.run_pristine(tests), runner.run_fork(tests), [])
    return Report(LOCKED, "broken", found, stale)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The suite on a fork with one broken function."""
    folder = tmp_path_factory.mktemp("suite")
    pristine = fetch_wheel(LOCKED, CACHE)
    (folder / "wheel").mkdir()
    module = "smolagents/_function_type_hints_utils.py"
    broken = altered(pristine, folder / "wheel", module, BREAK)
    report = compared(broken, folder)
    environment = Environment(Uv(), folder / "env" / "bin" / "python", [], {}, [])
    sides = Side("pristine", pristine, LOCKED), Side("fork", broken, LOCKED)
    tests = folder / "sdist" / f"smolagents-{LOCKED}" / "tests"
    return Suite(report, folder, Runner(environment, *sides, tests, folder))


def test_a_broken_function_is_caught(suite: Suite) -> None:
    different = suite.report.of(Kind.UNDECLARED)
    assert suite.report.exit_status == 1
    assert [found.test for found in different] == [
        f"tests/{TESTS}::TestGetJsonSchema::test_enum_choices"
    ]
    assert len(different[0].again) == 2
    assert len(suite.report.of(Kind.PASSED_BOTH)) > 20
    assert "UNDECLARED DIFFERENCES" in (suite.folder / "shown.txt").read_text("utf-8")


def test_a_side_that_imports_another_copy_stops_the_run(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = suite.runner
    runner.run_pristine([f"tests/{TESTS}"])
    other = runner._replace(fork=runner.fork._replace(version="1.0+fork.1"))
    with pytest.raises(SuiteError, match=rf"the fork side .* {LOCKED} at .*; expected 1\.0\+fork"):
        other.run_fork()
    # An installer that leaves the other side's files.
    runner.environment.use(runner.pristine)
    monkeypatch.setattr(Environment, "use", lambda *_: None)
    with pytest.raises(SuiteError, match=r"the fork side .*_function_type_hints_utils\.py differs"):
        runner.run_fork()


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_a_module_that_no_longer_imports_is_caught(suite: Suite, tmp_path: Path) -> None:
    runner = suite.with_broken("smolagents/vision_web_browser.py", tmp_path)
    report = again(runner, "test_vision_web_browser.py")
    assert report.exit_status == 1
    different = {found.test: found.fork.status for found in report.of(Kind.UNDECLARED)}
    assert different.pop("tests/test_vision_web_browser.py") == "error"
    assert set(different.values()) == {"missing"}


def test_a_fork_that_no_longer_imports_is_caught(suite: Suite, tmp_path: Path) -> None:
    report = again(suite.with_broken("smolagents/__init__.py", tmp_path), TESTS)
    assert report.exit_status == 1
    outcomes = {found.test: found.fork for found in report.of(Kind.UNDECLARED)}
    assert "OSError: broken" in outcomes[THE_RUN].message
    assert len(outcomes) > 5


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_an_older_release_runs_on_the_versions_it_wants(tmp_path: Path) -> None:
    # 1.24.0 wants huggingface-hub below 1.0, which the pinned versions are not.
    wheel = fetch_wheel("1.24.0", CACHE)
    report = compared(wheel, tmp_path, release="1.24.0", unlocked=True)
    assert report.exit_status == 0
    assert report.release == report.fork_version == "1.24.0"
    assert len(report.of(Kind.PASSED_BOTH)) > 3
    assert any("constraints.txt does not suit this release" in note for note in report.notes)

"""The suite on the real release: what is broken is caught, what is whole passes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console
from whole_contract import WHOLE

from tools.paths import CACHE
from tools.regression import Kind, Report, SuiteError, environments, run
from tools.regression.comparison import compare
from tools.regression.environments import Side, Twins
from tools.regression.execution import THE_RUN, Runner
from tools.upstream.fetch import fetch_wheel

pytestmark = [pytest.mark.slow, pytest.mark.network]

LOCKED = json.loads((Path(__file__).parents[2] / "upstream.lock").read_text("utf-8"))["version"]


def altered(wheel: Path, folder: Path, module: str, code: str) -> Path:
    """A copy of a wheel with code added at the end of a module, and a RECORD that is right."""
    path = folder / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w") as target:
        record_name = next(name for name in source.namelist() if name.endswith("/RECORD"))
        record = io.StringIO()
        for name in source.namelist():
            content = source.read(name)
            if name == module:
                content += code.encode()
            if name != record_name:
                target.writestr(name, content)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
                record.write(f"{name},sha256={digest.decode()},{len(content)}\n")
        target.writestr(record_name, record.getvalue() + f"{record_name},,\n")
    return path


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
            reports=folder / "reports",
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

    def break_module(self, name: str) -> None:
        """Have a module of the fork's side raise on import."""
        (site,) = (self.folder / "fork-env" / "lib").glob("python*/site-packages")
        path = site / "smolagents" / name
        text = path.read_text("utf-8") + '\n\nraise OSError("broken")\n'
        path.unlink()  # the installer may have linked it to its cache
        path.write_text(text, "utf-8")

    def again(self, *tests: str) -> Report:
        """Compare both sides as they are now."""
        found, stale = compare(*self.runner.run([f"tests/{name}" for name in tests]), [])
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
    sides = [
        Side(name, folder / f"{name}-env" / "bin" / "python", wheel, LOCKED)
        for name, wheel in (("pristine", pristine), ("fork", broken))
    ]
    tests = folder / "sdist" / f"smolagents-{LOCKED}" / "tests"
    shared = folder / "shared-env" / "bin" / "python"
    return Suite(report, folder, Runner(Twins(*sides, shared, {}, []), tests, folder))


def test_a_broken_function_is_caught(suite: Suite) -> None:
    different = suite.report.of(Kind.UNDECLARED)
    assert suite.report.exit_status == 1
    assert [found.test for found in different] == [
        f"tests/{TESTS}::TestGetJsonSchema::test_enum_choices"
    ]
    assert len(different[0].again) == 2
    assert len(suite.report.of(Kind.PASSED_BOTH)) > 20
    assert "UNDECLARED DIFFERENCES" in (suite.folder / "shown.txt").read_text("utf-8")
    assert (suite.folder / "reports" / "regression.json").exists()


def test_a_side_that_imports_another_copy_stops_the_run(suite: Suite) -> None:
    pristine, fork = suite.runner.twins.pristine, suite.runner.twins.fork
    twins = suite.runner.twins
    crossed = twins._replace(fork=fork._replace(python=pristine.python))
    with pytest.raises(SuiteError, match=r"the fork side .*_function_type_hints_utils\.py differs"):
        suite.runner._replace(twins=crossed).prepare()
    other = twins._replace(fork=fork._replace(version="1.0+fork.1"))
    with pytest.raises(SuiteError, match=rf"the fork side .* {LOCKED} at .*; expected 1\.0\+fork"):
        suite.runner._replace(twins=other).prepare()
    assert pristine.python != fork.python
    suite.runner.prepare()


def test_each_side_has_only_its_own_smolagents(suite: Suite) -> None:
    sides = {"shared-env": set[str](), "pristine-env": set[str](), "fork-env": set[str]()}
    for name, found in sides.items():
        (site,) = (suite.folder / name / "lib").glob("python*/site-packages")
        found |= {path.name for path in site.iterdir() if path.is_dir()}
    assert "pytest" in sides["shared-env"]
    assert "smolagents" not in sides["shared-env"]
    mine = {"smolagents", f"smolagents-{LOCKED}.dist-info"}
    assert sides["pristine-env"] == sides["fork-env"] == mine


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_a_module_that_no_longer_imports_is_caught(suite: Suite) -> None:
    suite.break_module("vision_web_browser.py")
    report = suite.again("test_vision_web_browser.py")
    assert report.exit_status == 1
    different = {found.test: found.fork.status for found in report.of(Kind.UNDECLARED)}
    assert different.pop("tests/test_vision_web_browser.py") == "error"
    assert set(different.values()) == {"missing"}


def test_a_fork_that_no_longer_imports_is_caught(suite: Suite) -> None:
    suite.break_module("__init__.py")
    report = suite.again(TESTS)
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

"""The suite on the real release: what is broken is caught, what is whole passes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tools.regression import Kind, Report, comparison, environments, run, suite
from tools.regression.execution import THE_RUN
from tools.upstream.fetch import fetch_wheel
from tools.uv import Uv

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


def compared(
    wheel: Path,
    folder: Path,
    tests: list[str],
    *,
    release: str | None = None,
    unlocked: bool = False,
) -> Report:
    console = Console(record=True, width=120)
    report = run(
        fork_wheel=wheel,
        release=release,
        unlocked=unlocked,
        tests=tests,
        folder=folder,
        reports=folder / "reports",
        console=console,
    )
    (folder / "shown.txt").write_text(console.export_text(), "utf-8")
    return report


@pytest.fixture(scope="module", autouse=True)
def few_packages() -> Iterator[None]:
    """The packages that these tests of upstream's need; `make test` installs them all."""
    needed = ("ipython", "numpy", "pandas", "pytest", "pytest-timeout", "pytest-xdist")
    kept = [one for one in environments.REQUIREMENTS if re.split("[=><]", one)[0] in needed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "EXTRAS", ["vision"])
        patch.setattr(environments, "OPTIONAL", {})
        patch.setattr(environments, "REQUIREMENTS", kept)
        yield


@pytest.fixture(scope="module")
def pristine_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch_wheel(LOCKED, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def twins(pristine_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> environments.Twins:
    """Both environments, made once: a fresh one compiles all that its tests import."""
    folder = tmp_path_factory.mktemp("twins")
    return environments.build_twins(pristine_wheel, pristine_wheel, folder, pinned=True)


@pytest.fixture
def made_once(twins: environments.Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the wheel under test installed into the environments that there are."""

    def renewed(fork_wheel: Path, *_: object, **__: object) -> environments.Twins:
        Uv().install(twins.fork.python, "--no-deps", "--reinstall", fork_wheel.resolve())
        return replace(twins, fork=twins.fork._replace(wheel=fork_wheel))

    monkeypatch.setattr(suite, "build_twins", renewed)


@pytest.mark.usefixtures("made_once")
def test_a_broken_function_is_caught(tmp_path: Path, pristine_wheel: Path) -> None:
    (tmp_path / "wheel").mkdir()
    # One test is about it: each difference is run again four times.
    function = "create_agent_gradio_app_template"
    code = f"\n\ndef {function}():\n    return None\n"
    broken = altered(pristine_wheel, tmp_path / "wheel", "smolagents/utils.py", code)
    report = compared(broken, tmp_path, ["test_utils.py"])
    different = report.of(Kind.UNDECLARED)
    assert report.exit_status == 1
    assert [found.test for found in different] == [
        "tests/test_utils.py::test_agent_gradio_app_template_excludes_class_keyword"
    ]
    assert len(different[0].again) == 2
    assert len(report.of(Kind.PASSED_BOTH)) > 30
    assert "UNDECLARED DIFFERENCES" in (tmp_path / "shown.txt").read_text("utf-8")
    assert (tmp_path / "reports" / "regression.xml").exists()


@pytest.mark.usefixtures("made_once")
def test_a_module_that_no_longer_imports_is_caught(
    tmp_path: Path, pristine_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "RERUN_AT_MOST", 0)
    (tmp_path / "wheel").mkdir()
    module = "smolagents/vision_web_browser.py"
    broken = altered(pristine_wheel, tmp_path / "wheel", module, '\n\nraise OSError("broken")\n')
    report = compared(broken, tmp_path, ["test_vision_web_browser.py", "test_types.py"])
    assert report.exit_status == 1
    different = {found.test: found.fork.status for found in report.of(Kind.UNDECLARED)}
    assert different.pop("tests/test_vision_web_browser.py") == "error"
    assert set(different.values()) == {"missing"}


@pytest.mark.usefixtures("made_once")
def test_a_fork_that_does_not_import_is_a_difference(tmp_path: Path, pristine_wheel: Path) -> None:
    (tmp_path / "wheel").mkdir()
    code = '\n\nraise OSError("broken")\n'
    broken = altered(pristine_wheel, tmp_path / "wheel", "smolagents/__init__.py", code)
    report = compared(broken, tmp_path, ["test_function_type_hints_utils.py"])
    assert report.exit_status == 1
    different = {found.test: found.fork for found in report.of(Kind.UNDECLARED)}
    assert "OSError: broken" in different[THE_RUN].message
    assert len(different) > 5


def test_an_older_release_runs_on_the_versions_it_wants(tmp_path: Path) -> None:
    # 1.24.0 wants huggingface-hub below 1.0, which the pinned versions are not.
    wheel = fetch_wheel("1.24.0", tmp_path / "cache")
    report = compared(
        wheel, tmp_path, ["test_function_type_hints_utils.py"], release="1.24.0", unlocked=True
    )
    assert report.exit_status == 0
    assert report.release == report.fork_version == "1.24.0"
    assert len(report.of(Kind.PASSED_BOTH)) > 3
    assert any("constraints.txt does not suit this release" in note for note in report.notes)

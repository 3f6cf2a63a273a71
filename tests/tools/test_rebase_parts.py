"""Parts of the rebase by themselves: versions, changelog, replacement of files, the verdict."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import pytest
from packaging.version import Version

from buildsys import lock as lockfile
from tools.errors import RebaseError, ToolError
from tools.git import Git, environment
from tools.junit import Outcome
from tools.paths import ROOT, Project
from tools.rebase import bases, trial
from tools.rebase.__main__ import main as rebase_command
from tools.rebase.bases import path_of_versions, steps_between
from tools.rebase.report import regression_lines
from tools.rebase.state import KILL_VARIABLE, Folder, reached
from tools.regression import Kind, Report
from tools.regression import run as run_suite
from tools.regression.comparison import Comparison
from tools.replacement import Replacement
from tools.series.__main__ import main as series_command

KNOWN = [Version(text) for text in ("1.23.0", "1.24.0", "1.25.0", "1.25.1", "1.26.0", "1.27.0")]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("1.24.0", "1.26.0", ["1.24.0", "1.25.0", "1.25.1", "1.26.0"]),
        ("1.26.0", None, ["1.26.0", "1.27.0"]),
        ("1.27.0", None, ["1.27.0"]),
        ("1.26.0", "1.26", ["1.26.0"]),
        ("1.25.1", "1.24.0", ["1.25.1", "1.25.0", "1.24.0"]),
        ("1.24.5", "1.25.0", ["1.24.5", "1.25.0"]),  # a release that was taken back
    ],
)
def test_versions_are_stepped_through_in_order(old, new, path):
    assert path_of_versions(old, new, KNOWN) == path


@pytest.mark.parametrize("new", ["1.28.0", "1.25.2", "newest", "1.27.0rc1"])
def test_version_that_nobody_released_is_refused(new):
    with pytest.raises(RebaseError, match=r"1\.27\.0"):
        path_of_versions("1.26.0", new, KNOWN)


def test_repository_without_the_tag_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bases, "released_versions", lambda: KNOWN)
    with pytest.raises(RebaseError, match=f"(?s)UPSTREAM_GIT={tmp_path}: .*not appear to be a git"):
        steps_between(Project(tmp_path), "1.26.0", None, str(tmp_path))
    upstream = Git(tmp_path / "upstream")
    upstream.init("main")
    with pytest.raises(RebaseError, match=r"has no tag v1\.26\.0, where the series is"):
        steps_between(Project(tmp_path), "1.26.0", None, str(upstream.folder))


@pytest.mark.parametrize("page", ["docs/patches.md", "docs/rebase.md"])
def test_pages_name_targets_options_and_files_that_exist(page, capsys):
    text = (ROOT / page).read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"(?:^|`)make ([a-z]+(?:-[a-z]+)*)", text, re.MULTILINE))
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"`((?:tools|tests|buildsys|patches|docs|\.github)/[\w./-]+\w)`", text):
        assert (ROOT / path).exists(), path
    with pytest.raises(SystemExit):
        rebase_command(["start", "--help"])
    with pytest.raises(SystemExit):
        series_command(["check", "--help"])
    known = capsys.readouterr().out
    for option in {
        "--skip-regression",
        "--regression-test",
        "--borrow-packages",
        "--to",
        "--output",
    }:
        assert option in known


class Stop(Exception):
    """The process ends here."""


STAGES = [("decided", 1), ("replaced", 1), ("replaced", 2), ("replaced", 3)]
OLD = {"a": b"old a", "gone": b"old gone"}
NEW = {"a": b"new a", "gone": None, "sub/b": b"new b"}


def there(root: Path) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in NEW if (root / name).exists()}


@pytest.mark.parametrize("ending", ["finish", "undo"])
@pytest.mark.parametrize(("stage", "count"), STAGES)
def test_replacement_cut_off_is_undone_or_finished_as_a_whole(tmp_path, stage, count, ending):
    for name, data in OLD.items():
        (tmp_path / name).write_bytes(data)
    seen: list[str] = []

    def stop(name: str) -> None:
        seen.append(name)
        if seen.count(stage) == count:
            raise Stop

    cut_off = Replacement(tmp_path, tmp_path / "staged", stop)
    cut_off.stage(NEW)
    assert (cut_off.is_decided, there(tmp_path)) == (False, OLD)
    with pytest.raises(Stop):
        cut_off.decide()
    again = Replacement(tmp_path, tmp_path / "staged")
    assert again.is_decided
    for _ in range(2):
        getattr(again, ending)()
        new = {name: data for name, data in NEW.items() if data is not None}
        assert there(tmp_path) == (OLD if ending == "undo" else new)
    again.remove()
    assert not (tmp_path / "staged").exists()


def test_replacement_touches_nothing_when_a_file_has_changed_in_the_meantime(tmp_path):
    replacement = Replacement(tmp_path, tmp_path / "staged")
    replacement.stage({"a": b"new", "b": b"new"})
    (tmp_path / "b").write_bytes(b"mine")
    with pytest.raises(ToolError, match="b has been changed in the meantime; nothing was written"):
        replacement.decide()
    assert not replacement.is_decided
    replacement.stage({"a": b"new", "b": b"new"})
    replacement.decide()
    (tmp_path / "b").write_bytes(b"other")
    for ending in (replacement.finish, replacement.undo):
        with pytest.raises(ToolError, match="b: changed while it was being replaced"):
            ending()
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"new", b"other"]


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", ""])
def test_replacement_stays_below_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="expected a relative path"):
        Replacement(tmp_path / "root", tmp_path / "staged").stage({name: b"x"})
    assert not (tmp_path / "out").exists()


def test_killing_point_has_a_known_name(monkeypatch):
    monkeypatch.delenv(KILL_VARIABLE, raising=False)
    reached("picked")
    with pytest.raises(ValueError, match="'somewhere' is not a known point"):
        reached("somewhere")


def test_git_gets_no_variable_of_the_caller_but_those_of_transport(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/certificates")
    found = environment({"GIT_AUTHOR_DATE": "now"})
    assert "GIT_DIR" not in found
    assert found["GIT_SSL_CAINFO"] == "/certificates"
    assert found["GIT_AUTHOR_DATE"] == "now"
    assert found["GIT_CONFIG_GLOBAL"] == "/dev/null"


def test_report_lists_what_the_regression_suite_has_found():
    passed, failed = Outcome("passed"), Outcome("failed")
    report = Report("9.1.0", "9.1.0+fork.1", [Comparison("t::a", Kind.PASSED_BOTH, passed, passed)])
    lines = list(regression_lines(report))
    assert lines[0] == "## Upstream's own tests: no undeclared difference"
    assert "| passed on both | 1 |" in lines
    report.comparisons.extend(
        Comparison(f"t::{number}", Kind.UNDECLARED, passed, failed) for number in range(25)
    )
    report.stale.append("t::z differs no more")
    lines = list(regression_lines(report))
    assert lines[0] == "## Upstream's own tests: **differences**"
    assert "- differs: `t::0`" in lines
    assert lines[-2:] == ["- and 5 more", "- stale deviation: t::z differs no more"]


def test_suite_is_run_on_the_new_release_and_its_report_decides(tmp_path, monkeypatch):
    folder = Folder(Project(tmp_path))
    folder.copy.mkdir(parents=True)
    folder.logs.mkdir()
    shutil.copy(ROOT / "upstream.lock", folder.copy)
    lock = lockfile.load(ROOT / "upstream.lock")
    passed, failed = Outcome("passed"), Outcome("failed")
    wheel = Path("smolagents-x.whl")
    given = {}

    def suite(**options):
        inspect.signature(run_suite).bind(**options)
        given.update(options)
        return Report("1.26.0", "x", [Comparison("t::a", Kind.UNDECLARED, passed, failed)])

    monkeypatch.setattr(trial, "run_regression", suite)
    report = trial.regression(folder, wheel, ("test_utils.py",))
    assert (given["fork_wheel"], given["tests"]) == (wheel, ("test_utils.py",))
    assert (given["release"], given["sdist_sha256"]) == (lock.version, lock.sdist.sha256)
    assert given["deviations"] == folder.copy / "tests" / "upstream" / "deviations.toml"
    assert trial.Verdict().is_good
    assert not trial.Verdict(regression=report).is_good

"""Parts of the rebase by themselves: versions, changelog, replacement of files, the verdict."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from packaging.version import Version

from tools.git import environment
from tools.paths import ROOT, Project
from tools.rebase import regression
from tools.rebase.__main__ import main as rebase_command
from tools.rebase.bases import path_of_versions
from tools.rebase.changelog import with_release
from tools.rebase.points import reached
from tools.rebase.regression import regression_verdict, verdict_of
from tools.rebase.state import Folder, RebaseError
from tools.regression import Kind, Report
from tools.regression.__main__ import _parser as regression_parser
from tools.regression.comparison import Comparison, Outcome
from tools.series.__main__ import main as series_command
from tools.series.replace import recover, replace_files

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


UNRELEASED = (
    "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- more\n\n## [1.0+fork.2] - 2026-01-01\n"
)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (None, ["# Changelog", "## [2.0+fork.1] - 2026-02-02", "- done"]),
        ("", ["## [2.0+fork.1]", "- done"]),
        ("# Changelog\n", ["# Changelog", "## [2.0+fork.1]", "- done"]),
        (UNRELEASED, ["[Unreleased]", "[2.0+fork.1]", "- done", "- more", "[1.0+fork.2]"]),
        ("# C\n\n## [1.0+fork.2]\n\n- old\n", ["# C", "[2.0+fork.1]", "- done", "[1.0+fork.2]"]),
        ("# C\n\n## Unreleased\n", ["## Unreleased", "[2.0+fork.1]", "- done"]),
    ],
)
def test_changelog_gets_the_release_where_it_belongs(text, order):
    new = with_release(text, "2.0+fork.1", "2026-02-02", ["done"])
    places = [new.index(words) for words in order]
    assert places == sorted(places)
    assert new.endswith("\n")
    assert not new.endswith("\n\n")
    assert "\n\n\n" not in new
    for line in (text or "").splitlines():
        assert line in new


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


STAGES = [("staged", 1), ("decided", 1), ("replaced", 1), ("replaced", 2), ("replaced", 3)]


@pytest.mark.parametrize(("stage", "count"), STAGES)
def test_replacement_cut_off_is_undone_or_finished_as_a_whole(tmp_path, stage, count):
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "gone").write_bytes(b"old gone")
    new = {"a": b"new a", "gone": None, "sub/b": b"new b"}
    journal = tmp_path / "journal"
    seen: list[str] = []

    def stop(name: str) -> None:
        seen.append(name)
        if seen.count(stage) == count:
            raise Stop

    with pytest.raises(Stop):
        replace_files(tmp_path, journal, new, stop)
    finished = recover(tmp_path, journal)
    assert finished is (stage != "staged")
    if finished:
        assert (tmp_path / "a").read_bytes() == b"new a"
        assert (tmp_path / "sub" / "b").read_bytes() == b"new b"
        assert not (tmp_path / "gone").exists()
    else:
        assert (tmp_path / "a").read_bytes() == b"old a"
        assert (tmp_path / "gone").read_bytes() == b"old gone"
        assert not (tmp_path / "sub").exists()
    assert not journal.exists()
    assert recover(tmp_path, journal) is False
    replace_files(tmp_path, journal, {"a": b"newer"})
    assert (tmp_path / "a").read_bytes() == b"newer"


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", ""])
def test_replacement_stays_below_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="expected a relative path"):
        replace_files(tmp_path / "root", tmp_path / "journal", {name: b"x"})
    assert not (tmp_path / "out").exists()


def test_killing_point_has_a_known_name(monkeypatch):
    monkeypatch.delenv("SMOLAGENTS_FORK_REBASE_KILL_AT", raising=False)
    reached("picked")
    with pytest.raises(ValueError, match="'somewhere' is no known point"):
        reached("somewhere")


def test_git_gets_no_variable_of_the_caller_but_those_of_transport(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/certificates")
    found = environment({"GIT_AUTHOR_DATE": "now"})
    assert "GIT_DIR" not in found
    assert found["GIT_SSL_CAINFO"] == "/certificates"
    assert found["GIT_AUTHOR_DATE"] == "now"
    assert found["GIT_CONFIG_GLOBAL"] == "/dev/null"


def test_verdict_is_read_from_what_the_suite_writes():
    passed, failed = Outcome("passed"), Outcome("failed")
    comparisons = [Comparison("t::a", Kind.PASSED_BOTH, passed, passed)]
    report = Report("9.1.0", "9.1.0+fork.1", comparisons)
    good, text = verdict_of(json.loads(json.dumps(report.as_dict())))
    assert good
    assert "| passed on both | 1 |" in text
    report.comparisons.extend(
        Comparison(f"t::{number}", Kind.UNDECLARED, passed, failed) for number in range(25)
    )
    report.stale.append("t::z differs no more")
    good, text = verdict_of(json.loads(json.dumps(report.as_dict())))
    assert not good
    assert "- differs: `t::0`" in text
    assert "- and 5 more" in text
    assert "- stale deviation: t::z differs no more" in text


def test_suite_is_run_on_the_new_release_and_its_verdict_holds(tmp_path, monkeypatch):
    """The suite's own parser reads the words, and a difference it writes is "does not hold"."""
    folder = Folder(Project(tmp_path))
    folder.path.mkdir()
    shutil.copy(ROOT / "upstream.lock", folder.path)
    passed, failed = Outcome("passed"), Outcome("failed")
    kinds = iter([Kind.PASSED_BOTH, Kind.UNDECLARED])
    calls = []

    def suite(command, log, *, accepted, **rest):
        options = regression_parser().parse_args([str(word) for word in command[3:]])
        calls.append((command[1:3], options, accepted))
        kind = next(kinds)
        other = passed if kind is Kind.PASSED_BOTH else failed
        report = Report("1.26.0", "x", [Comparison("t::a", kind, passed, other)])
        options.reports.mkdir(parents=True)
        (options.reports / "regression.json").write_text(json.dumps(report.as_dict()))
        return report.exit_status

    monkeypatch.setattr(regression, "run", suite)
    wheel = Path("smolagents-x.whl")
    assert regression_verdict(Project(), folder, wheel, ["test_utils.py"], ())[0]
    good, text = regression_verdict(Project(), folder, wheel, ["test_utils.py"], ())
    assert not good
    assert "- differs: `t::a`" in text
    for module, options, accepted in calls:
        assert module == ["-m", "tools.regression"]
        assert options.fork_wheel == wheel
        assert options.tests == ["test_utils.py"]
        assert options.release == json.loads((ROOT / "upstream.lock").read_text())["version"]
        assert options.deviations == ROOT / "tests" / "upstream" / "deviations.toml"
        assert accepted == (0, 1)

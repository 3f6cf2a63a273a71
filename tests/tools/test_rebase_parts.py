"""Parts of the rebase by themselves: versions, pages, git's environment, the report."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from tools.errors import RebaseError
from tools.git import environment
from tools.paths import ROOT
from tools.rebase.__main__ import main as rebase_command
from tools.rebase.releases import path_of_versions
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


@pytest.mark.parametrize("page", ["docs/patches.md", "docs/rebase.md"])
def test_pages_name_options_and_files_that_exist(page, capsys):
    text = (ROOT / page).read_text("utf-8")
    for path in re.findall(r"`((?:tools|tests|buildsys|patches|docs|\.github)/[\w./-]+\w)`", text):
        assert (ROOT / path).exists(), path
    with pytest.raises(SystemExit):
        rebase_command(["start", "--help"])
    with pytest.raises(SystemExit):
        series_command(["check", "--help"])
    known = capsys.readouterr().out
    for option in {"--skip-regression", "--skip-contract", "--borrow-packages", "--to", "--output"}:
        assert option in known


def test_git_gets_no_variable_of_the_caller_but_those_of_transport(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/certificates")
    found = environment()
    assert "GIT_DIR" not in found
    assert found["GIT_SSL_CAINFO"] == "/certificates"
    assert found["GIT_CONFIG_GLOBAL"] == "/dev/null"

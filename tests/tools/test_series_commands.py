"""Opening, exporting and checking the series: the bytes, the refusals, and nothing lost."""

from __future__ import annotations

import os
import shutil
import sys

import pytest
from rebase_harness import all_files, commit_edit, tiny_message

from buildsys.errors import BuildError
from buildsys.series import series_names
from tools.command import run
from tools.errors import SeriesError
from tools.git import Git
from tools.paths import ROOT, Project
from tools.series.__main__ import main
from tools.series.edit import close_series, differences, open_series
from tools.series.repository import BASE, export

AGENTS = "smolagents/agents.py"


@pytest.fixture
def opened(tiny: Project) -> Git:
    return open_series(tiny, tiny.build / "series")


def error_of(call, *arguments, **named) -> str:
    with pytest.raises(SeriesError) as caught:
        call(*arguments, **named)
    return str(caught.value)


def test_round_trip_gives_the_same_bytes(tiny, opened):
    before = all_files(tiny.patches)
    assert opened.text("rev-list", "--count", f"{BASE}..HEAD") == "3"
    assert close_series(tiny, opened.folder) == []
    assert all_files(tiny.patches) == before
    assert differences(tiny) == {}


def test_comments_in_series_survive_export(tiny):
    series = tiny.patches / "series"
    first, second, third = series_names(tiny.patches)
    text = f"# head\n\n{first}  # why\n\n# about the second\n{second}\n{third}\n# the end\n"
    series.write_text(text)
    opened = open_series(tiny, tiny.build / "series")
    assert close_series(tiny, opened.folder) == []
    assert series.read_text() == text


def test_exported_patch_says_nothing_of_the_machine(tiny):
    data = (tiny.patches / "close-twice.patch").read_bytes()
    assert data.startswith(b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n")
    assert b"From: smolagents fork maintainers <maintainers@smolagents-fork.invalid>\n" in data
    assert b"\nSubject: Patch close-twice\n" in data
    assert b"\n-- \n" not in data
    index = next(line for line in data.split(b"\n") if line.startswith(b"index "))
    assert len(index) == len(b"index ..") + 40 + 40 + len(b" 100644")


def test_habits_of_a_maintainer_change_no_byte(tiny, tmp_path, monkeypatch):
    """Settings, attributes and variables that would each change what git writes."""
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "attributes").write_text(
        "*.py diff=python -text working-tree-encoding=UTF-16\n"
    )
    (home / ".gitconfig").write_text(
        "[user]\n name = Someone\n email = some@one\n[diff]\n algorithm = patience\n context = 9\n"
        " noprefix = true\n renames = copies\n mnemonicPrefix = true\n[format]\n pretty = oneline\n"
        " signature = mine\n numbered = true\n subjectPrefix = X\n attach = true\n"
        "[core]\n autocrlf = true\n abbrev = 7\n hooksPath = /nowhere\n[commit]\n gpgSign = true\n"
        "[am]\n threeWay = true\n keepcr = false\n[log]\n showSignature = true\n"
    )  # fmt: skip
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_AUTHOR_NAME": "Someone Else",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.context",
        "GIT_CONFIG_VALUE_0": "1",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    before = all_files(tiny.patches)
    git = open_series(tiny, tiny.build / "series")
    names = series_names(tiny.patches)
    assert list(export(git, BASE).items()) == [(name, before[name]) for name in names]
    commit_edit(git, AGENTS, "FIRST_2 = 2\n", "FIRST_2 = 22\n", tiny_message("more.patch"))
    close_series(tiny, git.folder)
    added = (tiny.patches / "more.patch").read_bytes()
    assert b"From: smolagents fork maintainers <maintainers@" in added
    assert b"\n@@ -16,7 +16,7 @@ def greeting(name):\n" in added or b"\n@@ -1" in added
    kept = all_files(tiny.patches)
    assert {name: kept[name] for name in before if name != "series"} == {
        name: data for name, data in before.items() if name != "series"
    }


def test_scratch_repository_inside_another_one_is_its_own(tiny, tmp_path):
    outer = Git(tiny.root)
    outer.init("main")
    outer.run("add", "--all")
    outer.run("commit", "--quiet", "--message", "outer")
    head = outer.text("rev-parse", "HEAD")
    git = open_series(tiny, tiny.build / "series")
    commit_edit(git, AGENTS, "FIRST_2 = 2\n", "FIRST_2 = 22\n", tiny_message("more.patch"))
    assert outer.text("rev-parse", "HEAD") == head
    assert git.text("rev-list", "--count", f"{BASE}..HEAD") == "4"


def test_author_date_subject_and_odd_text_survive(tiny, opened):
    message = tiny_message("odd.patch").replace("Patch odd", "[odd] Ünder 100% = \\o/")
    file = opened.folder / AGENTS
    file.write_bytes(file.read_bytes().replace(b"FIRST_2 = 2\n", "FIRST_2 = 'é'\r\n".encode()))
    author = ("--author=Zoë Ångström <zoe@example.org>", "--date=2024-02-29T23:59:58-0730")
    opened.run("commit", "--all", "--quiet", "-m", message, *author)
    assert "patches/odd.patch" in close_series(tiny, opened.folder)
    assert b"\nDate: Thu, 29 Feb 2024 23:59:58 -0730\n" in (tiny.patches / "odd.patch").read_bytes()
    assert differences(tiny) == {}
    again = open_series(tiny, tiny.build / "again")
    shown = again.text("log", "-1", "--format=%an <%ae> %ad %s", "--date=iso-strict")
    assert shown == (
        "Zoë Ångström <zoe@example.org> 2024-02-29T23:59:58-07:30 [odd] Ünder 100% = \\o/"
    )
    assert b"FIRST_2 = '\xc3\xa9'\r\n" in (again.folder / AGENTS).read_bytes()


def test_new_order_renamed_and_dropped_patches_are_exported(tiny, opened):
    order = opened.lines("rev-list", "--reverse", f"{BASE}..HEAD")
    opened.run("reset", "--quiet", "--hard", BASE)
    opened.run("cherry-pick", order[2], order[0])
    opened.run("commit", "--quiet", "--amend", "-m", tiny_message("renamed.patch"))
    changed = close_series(tiny, opened.folder)
    assert series_names(tiny.patches) == ["close-twice.patch", "renamed.patch"]
    assert "patches/polite-greeting.patch" in changed
    text = (tiny.patches / "series").read_text()
    assert text == "# in order\nclose-twice.patch\nrenamed.patch\n"


def _commit(message: str):
    """A commit with a message that the export refuses."""
    return lambda git: commit_edit(git, AGENTS, "FIRST_2 = 2\n", "\n", message)


def _merge(git: Git) -> None:
    git.run("checkout", "--quiet", "-b", "side", BASE)
    commit_edit(git, AGENTS, "FIRST_2 = 2\n", "\n", tiny_message("side.patch"))
    git.run("checkout", "--quiet", "series")
    git.run("merge", "--quiet", "--no-edit", "side")


def _write(name: str):
    return lambda git: (git.folder / name).write_text("mine")


def _git(*commands: str):
    return lambda git: [git.run(*command.split(), check=False) for command in commands]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            _commit("no trailers\n\nat all"),
            "needs one trailer 'Patch-Name: <words-with-hyphens>.patch', has None",
        ),
        (_commit(tiny_message("../evil.patch")), "has '../evil.patch'"),
        (
            _commit(tiny_message("close-twice.patch")),
            "has the Patch-Name of another commit: close-twice.patch",
        ),
        (
            _commit("fixup! Patch close-twice"),
            "is to be melted into another: git rebase -i --autosquash base",
        ),
        (_git("commit --allow-empty --quiet -m empty"), "changes nothing; drop it"),
        (_merge, "is a merge; a series is a line"),
        (_write(AGENTS), "changes that are not committed would be lost"),
        (_write("smolagents/new.py"), "?? smolagents/new.py"),
        (_git(f"rebase --quiet --exec false {BASE}"), "a git rebase, am or merge is under way"),
        (
            _git("checkout --quiet --orphan new", "commit --quiet -m new"),
            "does not stand on the base",
        ),
    ],
)
def test_commits_that_are_no_series_are_refused_and_patches_kept(tiny, opened, damage, words):
    before = all_files(tiny.patches)
    damage(opened)
    assert words in error_of(close_series, tiny, opened.folder)
    assert all_files(tiny.patches) == before


def test_executable_file_is_refused(tiny, opened):
    opened.run("update-index", "--chmod=+x", AGENTS)
    opened.run("commit", "--quiet", "-m", tiny_message("mode.patch"))
    with pytest.raises(BuildError, match="a mode change is not accepted"):
        close_series(tiny, opened.folder)


def test_opening_again_never_loses_work(tiny, opened):
    commit_edit(opened, AGENTS, "FIRST_2 = 2\n", "\n", tiny_message("more.patch"))
    _write(AGENTS)(opened)
    words = "exists; export what is in it, then remove it"
    assert words in error_of(open_series, tiny, opened.folder)
    assert (opened.folder / AGENTS).read_text() == "mine"
    again = open_series(tiny, opened.folder, force=True)
    assert again.text("rev-list", "--count", f"{BASE}..HEAD") == "3"


def test_export_does_not_undo_what_came_into_patches_since(tiny, opened):
    patch = tiny.patches / "close-twice.patch"
    patch.write_bytes(patch.read_bytes().replace(b"Forwarded: no", b"Forwarded: not-needed"))
    assert "exporting would undo that" in error_of(close_series, tiny, opened.folder)
    assert b"not-needed" in patch.read_bytes()
    assert close_series(tiny, opened.folder, force=True) == ["patches/close-twice.patch"]


def test_check_shows_which_patch_and_the_corrected_diff(tiny, tmp_path, capsys):
    patch = tiny.patches / "total-of-none.patch"
    good = patch.read_bytes()
    patch.write_bytes(good.replace(b"diff --git", b"---\n 1 file changed\n\ndiff --git"))
    assert main(["check", "--output", str(tmp_path / "out")], tiny.root) == 1
    said = capsys.readouterr().out
    assert "patches/total-of-none.patch is not as exported" in said
    assert "\n- 1 file changed" in said
    assert (tmp_path / "out" / "patches" / "total-of-none.patch").read_bytes() == good
    patch.write_bytes(good)
    assert main(["check"], tiny.root) == 0
    assert "3 patches are as exported" in capsys.readouterr().out


def test_check_names_the_patch_that_git_does_not_take(tiny, capsys):
    patch = tiny.patches / "total-of-none.patch"
    patch.write_bytes(patch.read_bytes().replace(b"-    for number", b"-    for numeral"))
    assert main(["check"], tiny.root) == 2
    assert "patches/total-of-none.patch: git am does not take it" in capsys.readouterr().err


def test_empty_series_is_a_series(tiny, capsys):
    for path in tiny.patches.glob("*.patch"):
        path.unlink()
    (tiny.patches / "series").write_text("# none\n")
    for command in (["edit", str(tiny.build / "empty")], ["export", str(tiny.build / "empty")],
                    ["check"], ["lint"]):  # fmt: skip
        assert main(command, tiny.root) == 0, command
    assert (tiny.patches / "series").read_text() == "# none\n"


@pytest.mark.slow
def test_commands_are_run_as_the_makefile_does(tiny):
    shutil.copytree(ROOT / "tools", tiny.root / "tools")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command, status in {"series edit": 0, "rebase abort": 2}.items():
        said = run(
            [sys.executable, "-m", *f"tools.{command}".split()],
            timeout_seconds=300,
            cwd=tiny.root,
            env=environment,
            log=tiny.build / "said.log",
            accepted=[status],
        )
    assert "no rebase is under way" in said
    assert (tiny.build / "series" / ".git").is_dir()

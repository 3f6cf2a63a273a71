"""Changes of an installation, found without an engine: new, changed and removed files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from smolagents_fork.sandboxes.docker.images.image_definitions import image_folder

CHANGES = str(image_folder("jupyter").joinpath("changes.py"))


def listed(top):
    """List everything below a folder."""
    return sorted(
        os.path.relpath(os.path.join(where, name), top)
        for where, folders, names in os.walk(top)
        for name in [*folders, *names]
    )


def run(*arguments):
    subprocess.run([sys.executable, "-I", CHANGES, *map(str, arguments)], check=True, timeout=120)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "kernel"
    (made / "old" / "deep").mkdir(parents=True)
    (made / "kept.py").write_text("kept")
    (made / "other.py").write_text("before")
    (made / "old" / "deep" / "gone.py").write_text("gone")
    (made / "link").symlink_to("kept.py")
    return made


def test_only_changes_are_collected_and_the_rest_is_removed(folder, tmp_path):
    result = tmp_path / "result"
    shutil.copytree(folder, result, symlinks=True)
    run("note", folder, tmp_path / "list")
    (folder / "new").mkdir()
    (folder / "new" / "added.py").write_text("added")
    (folder / "other.py").write_text("after!")
    (folder / "again").symlink_to("new")
    (folder / "kept.py").touch()
    shutil.rmtree(folder / "old")
    run("collect", folder, tmp_path / "list", tmp_path / "changes")
    delta = tmp_path / "changes" / folder.relative_to("/")
    # The builder lays the changes over a copy of what was there.
    shutil.copytree(delta, result, symlinks=True, dirs_exist_ok=True)
    names = (result / ".removed").read_text().replace(str(folder), str(result))
    (result / ".removed").write_text(names)
    run("remove", result)
    assert listed(result) == listed(folder)
    assert (result / "other.py").read_text() == "after!"
    assert os.readlink(result / "again") == "new"


def test_nothing_is_collected_when_nothing_changed(folder, tmp_path):
    run("note", folder, tmp_path / "list")
    run("collect", folder, tmp_path / "list", tmp_path / "changes")
    found = [name for _, _, names in os.walk(tmp_path / "changes") for name in names]
    assert found == [".removed"]

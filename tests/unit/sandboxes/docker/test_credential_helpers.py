"""Credential helpers of the Docker configuration: which count as installed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from smolagents_fork.sandboxes.docker.credential_helpers import find_missing_helpers


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, content: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))


def install(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.mark.parametrize("key", ["credsStore", "credHelpers"])
@pytest.mark.parametrize("name", ["x", "../x", "../../x", "/x", "x/../x", "./x"])
def test_helper_of_the_current_folder_is_not_started(
    key: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here = tmp_path / "a" / "here"
    for place in (here, here / "docker-credential-..", here / "docker-credential-x"):
        place.mkdir(parents=True)
    # Wherever a name leads from the current folder, there is a program.
    (here / "docker-credential-x").rmdir()
    for path in (here / "docker-credential-x", here / "x", here.parent / "x"):
        install(path)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "/usr/bin"]))
    content = {"credsStore": name} if key == "credsStore" else {"credHelpers": {"r.invalid": name}}
    configure(monkeypatch, tmp_path / "docker", content)
    missing = find_missing_helpers()
    assert missing is not None
    assert missing.names == (name,)
    assert missing.config.get("credsStore") is None
    assert missing.config["credHelpers"] == {}
    assert str(missing).endswith(
        f"names docker-credential-{name}, which is not installed: install it in a folder that "
        "PATH names by its absolute path, or take it out of the file"
    )


def test_helper_before_which_another_would_be_started_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    install(tmp_path / "system" / "docker-credential-x")
    install(tmp_path / "here" / "docker-credential-x")
    monkeypatch.chdir(tmp_path / "here")
    configure(monkeypatch, tmp_path / "docker", {"credsStore": "x"})
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    assert find_missing_helpers() is None
    monkeypatch.setenv("PATH", os.pathsep.join([".", str(tmp_path / "system")]))
    assert find_missing_helpers() is not None

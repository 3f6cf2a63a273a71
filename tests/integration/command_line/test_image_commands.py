"""``images``, ``gc`` and ``setup`` with images and a container that only these tests have."""

from __future__ import annotations

import io
import secrets
import sys

import pytest

from smolagents_fork.sandboxes.docker.lifetime import labels

pytestmark = pytest.mark.docker


def test_image_is_listed_with_its_packages_and_users(command, create, build, name):
    build(name, {"smolagents-fork.packages": "numpy pandas==2.2"})
    container = create(name)
    (found,) = [i for i in command("images", "--json").data["images"] if name in i["names"]]
    (line,) = [line for line in command("images").out.splitlines() if name in line]
    assert found["packages"] == ["numpy", "pandas==2.2"]
    assert found["used_by"] == [container.name]
    assert 0 < found["own_bytes"] <= found["size_bytes"]
    assert line.split()[-4:] == ["numpy", "pandas==2.2", "by", "1"]


def test_images_of_others_are_not_listed(command, build):
    tag = f"bystander:{secrets.token_hex(10)}"
    derived = build(tag, {"smolagents-fork.packages": "numpy"})
    untagged = build()
    ids = {one["id"] for one in command("images", "--json").data["images"]}
    assert ids.isdisjoint({derived, untagged})
    assert command("gc", "--dry-run", "--match", derived).out == "nothing to remove\n"


def test_dry_run_removes_nothing(command, engine, build, name):
    image = build(name)
    ended = command("gc", "--dry-run", "--match", name)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["ID", image, "frees"]
    assert f"{name}  no container uses it" in ended.out
    assert engine.images.get(name)


def test_nothing_is_removed_without_an_answer(command, engine, build, name):
    build(name)
    for arguments in (["gc"], ["gc", "--json"]):
        ended = command(*arguments, "--match", name)
        assert ended.code == 2
        assert "nothing was removed: pass --yes to remove, or --dry-run to see what would be" in (
            ended.out + ended.err
        )
    assert engine.images.get(name)


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_terminal_is_asked(command, engine, build, name, monkeypatch, answer, code):
    build(name)
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    ended = command("gc", "--match", name)
    assert ended.code == code
    assert "Remove them? [y/n] (n): " in ended.out
    assert ended.out.endswith("removed 1 of 1\n" if code == 0 else "nothing was removed\n")
    assert bool(engine.images.list(name)) is (code == 1)


def test_image_in_use_is_kept(command, create, build, name):
    build(name)
    create(name)
    ended = command("gc", "--yes", "--match", name)
    assert (ended.code, ended.out) == (0, "nothing to remove\n")


def test_container_with_a_running_owner_stays(command, engine, create, build):
    name = f"kept-{secrets.token_hex(8)}"
    container = create(build(), labels=labels.labels(name), name=name)
    ended = command("gc", "--yes", "--match", name)
    assert (ended.code, ended.out) == (0, "nothing to remove\n")
    assert engine.containers.get(container.id)


def test_container_from_an_image_of_ours_is_not_ours(command, create, build):
    """Labels of an image are those of its containers; an empty owner is nobody's."""
    container = create(build(None, {labels.LABEL: ""}))
    listed = [one["name"] for one in command("ps", "--json").data["sandboxes"]]
    assert container.name not in listed


def test_engine_that_is_absent_is_an_error(command, tmp_path):
    environment = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    for arguments in (["images"], ["gc", "--dry-run"]):
        ended = command(*arguments, environment=environment)
        assert ended.code == 1
        assert "no container engine answers" in ended.err


def test_setup_of_an_image_that_is_there(command, image):
    ended = command("setup", "docker", "--json")
    assert ended.code == 0, ended.out
    assert ended.data["ready"] == image


@pytest.mark.wasm
def test_setup_of_wasm(command, wasm_machine):
    ended = command("setup", "wasm")
    assert ended.code == 0
    assert ended.out.startswith("wasm is ready after ")

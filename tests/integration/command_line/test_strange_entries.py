"""A listing survives any single entry that the engine sends, and names it in the log."""

from __future__ import annotations

import logging
from typing import Any

import docker
import pytest

from smolagents_fork.sandboxes.containers.listed_entries import read_entries
from smolagents_fork.sandboxes.docker.images.installation import PACKAGES_LABEL
from smolagents_fork.sandboxes.docker.lifetime import labels, orphans

pytestmark = pytest.mark.docker

NUMBER = "f" * 64
NAMED = {labels.LABEL: "machine:1:1", labels.NAME_LABEL: "named"}
# What an engine may send, as far as anyone has seen, and worse.
CONTAINERS: list[Any] = [
    {"Id": NUMBER, "Names": None, "Labels": None, "State": "dead"},
    {"Id": NUMBER, "Names": [], "Labels": {labels.LABEL: "²:²:²"}, "Created": None},
    {"Id": NUMBER, "Names": [""], "Labels": {labels.LABEL: 7}, "Created": "yesterday"},
    {"Id": NUMBER, "Names": ["/named"], "Labels": NAMED, "State": "running", "Image": None},
    {"Id": "../images/" + NUMBER, "Names": ["/named"], "Labels": NAMED},
    {"Id": NUMBER + "\x1b[2J", "Names": ["/named"], "Labels": NAMED},
    {"Id": NUMBER, "Names": "/named", "Labels": NAMED, "Created": 10**400},
    {"Id": NUMBER, "Names": [7, "/a/named"], "Labels": NAMED, "Created": float("nan")},
    {"Id": None, "Names": ["/without-id"], "Labels": {labels.LABEL: "machine:1:1"}},
    {"Labels": ["a list"]},
    {},
    None,
]
IMAGES: list[Any] = [
    {"Id": NUMBER, "RepoTags": None, "Labels": None},
    {"Id": NUMBER, "RepoTags": ["smolagents-fork-jupyter:" + "0" * 20], "Created": "never"},
    {"RepoTags": ["smolagents-fork-jupyter:" + "1" * 20]},
    {"Id": NUMBER, "RepoTags": [7], "Size": 10**400, "Labels": {PACKAGES_LABEL: 7}},
    {"Id": NUMBER, "RepoTags": "smolagents-fork-jupyter:" + "1" * 20, "Size": -1},
    {"Id": NUMBER, "RepoTags": ["smolagents-fork-jupyter:" + "2" * 20], "Size": "large"},
    None,
]


@pytest.fixture
def strange(monkeypatch):
    """Have the engine's lists begin with strange entries."""
    api = docker.api.client.APIClient

    def containers(self, *args, original=api.containers, **keywords):
        return [*CONTAINERS, *original(self, *args, **keywords)]

    def images(self, *args, original=api.images, **keywords):
        return [*IMAGES, *original(self, *args, **keywords)]

    def df(self, *, original=api.df):
        sent = original(self)
        sent["Images"] = [*IMAGES, *(sent["Images"] or ())]
        return sent

    for function in (containers, images, df):
        monkeypatch.setattr(api, function.__name__, function)


def test_container_is_listed_and_collected_beside_strange_ones(command, engine, orphan, strange):
    listed = {one["name"]: one for one in command("ps", "--json").data["sandboxes"]}
    assert listed[orphan.name]["owner"]["state"] == "gone"
    assert listed["named"]["state"] == "running"  # and gone when looked at
    (line,) = [line for line in command("ps").out.splitlines() if orphan.short_id in line]
    assert "(gone)" in line
    ended = command("gc", "--yes", "--match", orphan.name, "--json")
    assert (ended.code, ended.data["removed"]) == (0, [orphan.short_id])
    with pytest.raises(docker.errors.NotFound):
        engine.containers.get(orphan.id)


def test_reaper_removes_an_orphan_behind_strange_containers(engine, orphan, strange, caplog):
    with caplog.at_level(logging.WARNING, "smolagents_fork"):
        assert orphan.name in orphans.reap(engine)
    with pytest.raises(docker.errors.NotFound):
        engine.containers.get(orphan.id)
    assert f"the container {NUMBER} cannot be read, and is left out: " in caplog.text


def test_image_is_listed_beside_strange_ones(command, engine, build, name, strange):
    build(name)
    (found,) = [i for i in command("images", "--json").data["images"] if name in i["names"]]
    assert found["used_by"] == []


def test_entry_that_cannot_be_read_is_named(caplog):
    entries = [{"Id": "a"}, {"metadata": {"name": "pod"}}, {"Name": "volume"}, None, {"Id": "b"}]
    with caplog.at_level(logging.WARNING, "smolagents_fork"):
        assert read_entries("thing", entries, lambda entry: entry["Id"]) == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == [
        "the thing pod cannot be read, and is left out: KeyError('Id')",
        "the thing volume cannot be read, and is left out: KeyError('Id')",
        "the thing None cannot be read, and is left out: TypeError(\"'NoneType' object is not "
        'subscriptable")',
    ]

"""Requests to the engine and its answers, without an engine."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.create_arguments import merge
from smolagents_fork.sandboxes.docker.images import image_plans
from smolagents_fork.sandboxes.docker.inspection.engine_checks import cgroup_finding
from smolagents_fork.sandboxes.docker.lifetime import orphans
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL, labels
from smolagents_fork.sandboxes.provisioner import SandboxStatus


def test_users_arguments_are_merged_or_replace():
    base = {"environment": {"A": "1"}, "mem_limit": "1g", "network_mode": "none", "nano_cpus": 1}
    options = ContainerOptions(container_run_kwargs={"environment": ["B=2=3"]})
    extra = {
        "environment": options.run_environment,
        "mem_limit": "2g",
        "network": "mine",
        "remove": True,
        "cpu_quota": 5,
    }
    assert merge(base, extra) == {
        "environment": {"A": "1", "B": "2=3"},
        "mem_limit": "2g",
        "network": "mine",
        "cpu_quota": 5,
    }


def test_labels_of_users_do_not_replace_those_that_name_the_owner():
    own = labels("name")
    for given in ({LABEL: "another:1:1", "mine": ""}, [LABEL, "mine"]):
        assert merge({"labels": own}, {"labels": given})["labels"] == {**own, "mine": ""}
    assert merge({"labels": own}, {"labels": None})["labels"] == own


def test_status_as_text():
    assert str(SandboxStatus("ended", 137, True, ("a", "b"))) == (
        "sandbox ended, exit code 137 (SIGKILL), out of memory: raise memory=, or use less; "
        "last log lines: a | b"
    )
    assert str(SandboxStatus("ended", 137, True)).endswith("raise memory=, or use less")
    assert str(SandboxStatus("ended", 1)) == "sandbox ended, exit code 1; its log does not say why"
    assert str(SandboxStatus("ended", 1, log_missing="no streams")) == (
        "sandbox ended, exit code 1; the engine removed its log with it (no streams)"
    )


def test_tag_depends_on_content_and_on_nothing_else(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@example.com/simple")
    one = image_plans.plan(base_image="a", requirements=["x"])
    assert one == image_plans.plan(base_image="a", requirements=["x"])
    assert one.tag != image_plans.plan(base_image="b", requirements=["x"]).tag
    assert one.tag != image_plans.plan(base_image="a", requirements=["y"]).tag
    assert one.base is not None
    assert one.base.tag == image_plans.plan(base_image="a").tag
    assert "secret" not in str(one)


def test_base_image_from_the_environment(monkeypatch):
    monkeypatch.setenv(image_plans.BASE_IMAGE_VARIABLE, "from-environment")
    assert image_plans.plan().base == image_plans.ImagePlan("from-environment")
    monkeypatch.delenv(image_plans.BASE_IMAGE_VARIABLE)
    assert image_plans.plan().base == image_plans.ImagePlan("python:3.12-slim")


@pytest.mark.parametrize(
    ("state", "age", "abandoned"),
    [("created", 601.0, True), ("created", 300.0, False), ("running", 10_000.0, False)],
)
def test_container_that_was_never_started_is_abandoned_in_time(
    state: str, age: float, abandoned: bool
):
    summary = {"State": state, "Created": 1_000_000}
    assert orphans.was_abandoned(summary, lambda: 1_000_000 + age) is abandoned


ALL = {"MemoryLimit": True, "PidsLimit": True, "CpuCfsQuota": True}


def test_engine_with_all_limits():
    found = cgroup_finding({**ALL, "CgroupVersion": "2", "CgroupDriver": "systemd"})
    assert found.state == "ok"
    assert found.text.startswith("version 2, driver systemd: memory, processes and processor time")


def test_engine_without_a_limit_names_it():
    """A rootless engine without delegation says so of all three."""
    found = cgroup_finding({**ALL, "MemoryLimit": False, "CgroupVersion": "2"})
    assert found.state == "warning"
    assert "no limit of memory;" in found.text
    assert "Delegate=yes" in found.todo
    assert "memory or processes or processor time" in cgroup_finding({}).text

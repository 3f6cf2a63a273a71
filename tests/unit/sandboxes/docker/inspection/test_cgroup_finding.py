"""The engine's description of its limits."""

from __future__ import annotations

from smolagents_fork.sandboxes.docker.inspection.engine_checks import cgroup_finding

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

"""Requirements of the installed distribution's extras."""

from __future__ import annotations

import importlib
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement


def specifiers(extra: str, distribution: str) -> list[str]:
    """Return what an extra requires of a distribution."""
    found = [Requirement(text) for text in requires("smolagents") or ()]
    return [
        str(one.specifier)
        for one in found
        if one.name == distribution and one.marker and one.marker.evaluate({"extra": extra})
    ]


def test_package_of_the_docker_executor_is_installed_without_an_extra():
    found = [Requirement(text) for text in requires("smolagents") or ()]
    assert any(one.name == "docker" and one.marker is None for one in found)


@pytest.mark.parametrize("extra", ["mcp", "all"])
def test_extra_excludes_mcp_that_mcpadapt_cannot_import(extra):
    bounds = [Requirement(f"mcp{text}").specifier for text in specifiers(extra, "mcp")]
    assert not all(one.contains("2.0.0") for one in bounds)
    assert all(one.contains("1.30.0") for one in bounds)
    assert specifiers(extra, "mcpadapt")
    importlib.import_module("mcpadapt.smolagents_adapter")

"""Hatchling build hook that adds the staged ``smolagents`` package to the wheel."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from buildsys.staging import staged_package


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # generic only in its stubs
    """Hook that adds the package to standard and editable wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        key = "force_include_editable" if version == "editable" else "force_include"
        build_data[key][str(staged_package())] = "smolagents"

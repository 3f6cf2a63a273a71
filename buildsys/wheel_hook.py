"""Hatchling's build hook: puts the staged ``smolagents`` package into the wheel."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from buildsys.staging import staged_package


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # generic only in its stubs
    """Adds the package to standard and editable wheels alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        key = "force_include_editable" if version == "editable" else "force_include"
        build_data[key][str(staged_package())] = "smolagents"

"""Hatchling metadata hook that fills the project table's dynamic fields from the lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

from buildsys.metadata import project_fields


class MetadataHook(MetadataHookInterface):
    """Metadata hook; see :mod:`buildsys.metadata`."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata.update(project_fields(Path(self.root)))

"""Comparison of the fields of sandbox claims with definitions in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from smolagents_fork.sandboxes.kubernetes.sandbox_claims import FIELDS, VERSION
from tools.published_crds import main


def schema_of(fields: dict[str, str]) -> dict[str, Any]:
    top: dict[str, Any] = {"type": "object", "properties": {}}
    for path, kind in fields.items():
        at = top
        for name in path.split("."):
            at = at["properties"].setdefault(name, {"type": "object", "properties": {}})
        at["type"] = kind
    return top


@pytest.fixture
def definitions(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {
        plural: {
            "kind": "CustomResourceDefinition",
            "spec": {
                "group": group,
                "names": {"plural": plural},
                "versions": [
                    {
                        "name": VERSION,
                        "served": True,
                        "schema": {"openAPIV3Schema": schema_of(dict(fields))},
                    }
                ],
            },
        }
        for (group, plural), fields in FIELDS.items()
    }


def compared(definitions, folder: Path, capsys) -> tuple[int, str]:
    place = folder / "k8s" / "crds"
    place.mkdir(parents=True)
    for plural, definition in definitions.items():
        (place / f"{plural}.yaml").write_text(yaml.safe_dump(definition))
    code = main([str(folder)])
    return code, capsys.readouterr().out


def test_definitions_with_all_fields(definitions, tmp_path, capsys):
    assert compared(definitions, tmp_path, capsys) == (0, "11 fields are as published\n")


def test_what_is_missing_is_named(definitions, tmp_path, capsys):
    claims = definitions["sandboxclaims"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del claims["properties"]["spec"]["properties"]["warmPoolRef"]
    claims["properties"]["spec"]["required"] = ["templateRef"]
    definitions["sandboxes"]["spec"]["versions"][0]["served"] = False
    code, text = compared(definitions, tmp_path, capsys)
    assert code == 1
    assert text.splitlines() == [
        "sandboxclaims: spec.warmPoolRef.name is missing, not string",
        "sandboxclaims: spec requires templateRef, too",
        f"sandboxes of agents.x-k8s.io has no served version {VERSION}",
    ]


def test_folder_without_definitions(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2

"""Comparison of fields and manifests of sandbox claims with definitions in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from smolagents_fork.sandboxes.kubernetes.claims.sandbox_claims import FIELDS, VERSION
from tools.published_crds import main, written

TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}


def schema_for(value: Any) -> dict[str, Any]:
    """Return a schema that has the fields of a manifest and no others."""
    schema: dict[str, Any] = {"type": TYPES[type(value)]}
    if isinstance(value, dict):
        schema["properties"] = {name: schema_for(entry) for name, entry in value.items()}
    elif value and isinstance(value, list) and not isinstance(value[0], dict):
        schema["items"] = schema_for(value[0])
    return schema


def schema_of(fields: dict[str, str], manifest: dict[str, Any]) -> dict[str, Any]:
    top = schema_for(manifest)
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
                        "schema": {
                            "openAPIV3Schema": schema_of(dict(fields), written().get(plural, {}))
                        },
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
    assert compared(definitions, tmp_path, capsys) == (
        0,
        "11 fields are as published, 3 manifests are valid\n",
    )


def test_what_is_missing_is_named(definitions, tmp_path, capsys):
    claims = definitions["sandboxclaims"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del claims["properties"]["spec"]["properties"]["warmPoolRef"]
    claims["properties"]["spec"]["required"] = ["templateRef"]
    definitions["sandboxes"]["spec"]["versions"][0]["served"] = False
    code, text = compared(definitions, tmp_path, capsys)
    assert code == 1
    assert text.splitlines() == [
        "sandboxclaims: spec.warmPoolRef.name is missing, not string",
        f"sandboxes of agents.x-k8s.io has no served version {VERSION}",
        "sandboxclaims: $.spec: 'templateRef' is a required property",
        "sandboxclaims: $.spec: Additional properties are not allowed ('warmPoolRef' was "
        "unexpected)",
    ]


def test_manifest_with_a_field_that_is_not_published_is_named(definitions, tmp_path, capsys):
    templates = definitions["sandboxtemplates"]["spec"]["versions"][0]["schema"]
    pod = templates["openAPIV3Schema"]["properties"]["spec"]["properties"]["podTemplate"]
    del pod["properties"]["spec"]["properties"]["enableServiceLinks"]
    code, text = compared(definitions, tmp_path, capsys)
    assert code == 1
    assert text == (
        "sandboxtemplates: $.spec.podTemplate.spec: Additional properties are not allowed "
        "('enableServiceLinks' was unexpected)\n"
    )


def test_folder_without_definitions(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2

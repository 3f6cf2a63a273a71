"""Compare the fields that ``warm_pool=`` relies on with kubernetes-sigs/agent-sandbox's CRDs.

``python -m tools.published_crds CHECKOUT`` reads the custom resource definitions of a checkout of
that project, and names each field that is missing, has another type, or is required and not given.
Nothing of the project is in this repository.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # has no types

from smolagents_fork.sandboxes.kubernetes.sandbox_claims import FIELDS, VERSION

__all__ = ["main", "problems"]

_FOLDER = Path("k8s") / "crds"


def problems(checkout: Path) -> list[str]:
    """Return what the published definitions lack; nothing if all is well.

    Args:
        checkout: of kubernetes-sigs/agent-sandbox.
    """
    schemas = _schemas(checkout / _FOLDER)
    found = []
    for (group, plural), fields in FIELDS.items():
        schema = schemas.get((group, plural))
        if schema is None:
            found.append(f"{plural} of {group} has no served version {VERSION}")
            continue
        for path, kind in fields.items():
            published = _type_of(schema, path.split("."))
            if published != kind:
                found.append(f"{plural}: {path} is {published or 'missing'}, not {kind}")
        given = {path.split(".")[1] for path in fields if path.startswith("spec.")}
        required = set(schema["properties"].get("spec", {}).get("required", ()))
        if given and (missing := required - given):
            found.append(f"{plural}: spec requires {', '.join(sorted(missing))}, too")
    return found


def _schemas(folder: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the schema of each resource that is served in the version, by group and plural."""
    found = {}
    for document in _documents(folder):
        spec = document["spec"]
        for version in spec["versions"]:
            if version["name"] == VERSION and version["served"]:
                schema = version["schema"]["openAPIV3Schema"]
                found[spec["group"], spec["names"]["plural"]] = schema
    return found


def _documents(folder: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text("utf-8")):
            if document and document.get("kind") == "CustomResourceDefinition":
                yield document


def _type_of(schema: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        schema = schema.get("properties", {}).get(name, {})
    return str(schema.get("type", ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the problems; return 1 if there are any, and 2 without a checkout."""
    parser = argparse.ArgumentParser(prog="python -m tools.published_crds", description=__doc__)
    parser.add_argument("checkout", type=Path, help="of kubernetes-sigs/agent-sandbox")
    checkout: Path = parser.parse_args(arguments).checkout
    if not (checkout / _FOLDER).is_dir():
        print(f"{checkout}: no folder {_FOLDER} in it", file=sys.stderr)
        return 2
    found = problems(checkout)
    print("\n".join(found) or f"{sum(map(len, FIELDS.values()))} fields are as published")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

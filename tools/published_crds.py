"""Compare what ``warm_pool=`` relies on with kubernetes-sigs/agent-sandbox's CRDs.

``python -m tools.published_crds CHECKOUT`` reads the custom resource definitions of a checkout of
that project. It names each field that is missing or has another type, and validates the template,
pool and claim that the fork writes, strictly: a field that the definition does not have is an
error. Nothing of the project is in this repository.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # has no types
import yaml  # type: ignore[import-untyped]  # has no types

from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.kubernetes.claims.sandbox_claims import (
    CLAIMS,
    FIELDS,
    GROUP,
    POOLS,
    TEMPLATES,
    VERSION,
    claim_manifest,
)
from smolagents_fork.sandboxes.kubernetes.cluster_manifests import cluster_manifests
from smolagents_fork.sandboxes.kubernetes.pod_manifest import pod_manifest
from smolagents_fork.sandboxes.provisioner import SandboxSpec

__all__ = ["main", "problems", "written"]

_FOLDER = Path("k8s") / "crds"
_MOST_SHOWN = 200
_OPEN = "x-kubernetes-preserve-unknown-fields"


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
    for plural, manifest in written().items():
        schema = schemas.get((GROUP, plural), {})
        for error in jsonschema.Draft202012Validator(_strict(schema)).iter_errors(manifest):
            found.append(f"{plural}: {error.json_path}: {error.message[:_MOST_SHOWN]}")
    return found


def written() -> dict[str, Mapping[str, Any]]:
    """Return the custom resources that the fork writes, by plural."""
    *_, template, pool = cluster_manifests("agents", image="registry/image:1", warm_pool="ready")
    spec, options = SandboxSpec("registry/image:1"), ContainerOptions()
    pod = pod_manifest(spec, options, sandbox="0", token="", max_seconds=60, warm=True)
    claim = claim_manifest("ready", "claim", pod)
    return {TEMPLATES: template, POOLS: pool, CLAIMS: claim}


def _strict(schema: Any) -> Any:
    """Return a schema whose objects have no other fields than those that it names."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    strict = {key: _strict(value) for key, value in schema.items()}
    # Without properties, as an object's metadata has none, the API server has rules of its own.
    closed = bool(strict.get("properties")) and not strict.get(_OPEN)
    if strict.get("type") == "object" and closed:
        strict.setdefault("additionalProperties", False)
    return strict


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
    fields, manifests = sum(map(len, FIELDS.values())), len(written())
    print("\n".join(found) or f"{fields} fields are as published, {manifests} manifests are valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

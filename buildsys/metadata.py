"""Metadata of the wheel: upstream's, from the lock, plus the fork's declared delta."""

from __future__ import annotations

from collections.abc import Iterable
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Any

from buildsys import lock as lockfile
from buildsys.version import fork_version

__all__ = [
    "ADDED_DEPENDENCIES",
    "ADDED_EXTRAS",
    "ADDED_SCRIPTS",
    "CARRIED",
    "OWN",
    "project_fields",
    "uncarried",
]

# The declared delta. Sandboxes are the purpose of the fork, so their requirements are not an extra.
ADDED_DEPENDENCIES = {
    "docker>=7.1.0": "DockerExecutor uses it to communicate with the engine",
    "packaging>=22": "authorized imports may have versions, which it parses and compares",
}

ADDED_EXTRAS = {
    "egress": {
        "cryptography>=42": "the proxy makes certificates for the hosts of secrets=",
        "h11>=0.14,<1": "the proxy for allowed_hosts= reads and writes HTTP by it",
        "idna>=2.5,<4": "entries of allowed_hosts= may have letters beyond ASCII",
    },
    "kubernetes": {"kubernetes>=35,<38": "KubernetesEngine is a client of the cluster's API"},
    "mcp": {"mcp<2": "mcpadapt imports a name that mcp 2 has removed"},
    "ray": {"ray>=2.52,<3": "RayEngine runs sandboxes on the nodes of a cluster"},
    "wasm": {"deno>=2.9,<3": "WasmExecutor runs Pyodide in it"},
}

ADDED_SCRIPTS = {"smolagents-fork": "smolagents_fork.command_line.main:main"}


#: Upstream's core metadata that the wheel has from the lock.
CARRIED = frozenset({"Name", "Provides-Extra", "Requires-Dist", "Requires-Python"})
#: Core metadata, and files beside it, that the wheel has its own of.
OWN = frozenset(
    {
        # The fork's maintainers, text and licence files; they name upstream's authors.
        "Author", "Author-email", "Classifier", "Description", "Description-Content-Type",
        "Dynamic", "Home-page", "Keywords", "License", "License-Expression", "License-File",
        "Maintainer", "Maintainer-email", "Metadata-Version", "Project-URL", "Summary", "Version",
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses", "top_level.txt",
    }
)  # fmt: skip


def uncarried(metadata: str, files: Iterable[str]) -> list[str]:
    """Return what upstream's release says about itself and the fork's wheel would not.

    Args:
        metadata: text of the release's METADATA file.
        files: paths of the release.
    """
    fields = set(HeaderParser().parsestr(metadata))
    parts = [PurePosixPath(path).parts for path in files]
    beside = {path_parts[1] for path_parts in parts if path_parts[0].endswith(".dist-info")}
    return sorted((fields | beside) - CARRIED - OWN)


def project_fields(root: Path) -> dict[str, Any]:
    """Return the values of the project table's dynamic fields.

    Args:
        root: the repository's top folder.

    Raises:
        BuildError: the lock or the version file is wrong.
    """
    lock = lockfile.load(root / "upstream.lock")
    return {
        "version": fork_version(root / "smolagents_fork" / "_version.py", lock),
        "requires-python": lock.requires_python,
        "dependencies": [*lock.dependencies, *ADDED_DEPENDENCIES],
        "optional-dependencies": {
            **lock.extras,
            **{name: [*lock.extras.get(name, ()), *new] for name, new in ADDED_EXTRAS.items()},
        },
        "scripts": {**lock.scripts, **ADDED_SCRIPTS},
        "entry-points": {
            group: dict(entries)
            for group, entries in lock.entry_points.items()
            if group != "console_scripts"
        },
    }

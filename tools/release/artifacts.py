"""Files of a release, made from an exported tree: the same bytes on every path and machine."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from buildsys.lock import load
from buildsys.metadata import project_fields
from tools.changelog import release_notes
from tools.errors import ReleaseError
from tools.paths import Project
from tools.uv import Uv, compile_requirements

__all__ = ["CONSTRAINED_EXTRAS", "write_artifacts"]

# Extras whose packages constraints.txt pins. The others would pin frameworks of several gigabytes.
CONSTRAINED_EXTRAS = ("wasm",)

_SBOM_TOOL = "cyclonedx-bom==7.5.0"


def write_artifacts(tree: Path, version: str, out: Path, uv: Uv) -> None:
    """Write a release's files to an empty folder.

    Args:
        tree: exported tree of the released commit.
        version: the fork's version.
        out: folder for the source distribution, wheel, ``constraints.txt``, SBOM,
            ``RELEASE_NOTES.md`` and ``SHA256SUMS``.
        uv: runs builds and resolutions with the user's index settings.

    Raises:
        CommandError: a build or a resolution failed.
        ReleaseError: the changelog has no entries, or a build made other files than expected.
    """
    project = Project(tree)
    (out / "RELEASE_NOTES.md").write_text(
        release_notes(project.changelog.read_text("utf-8"), version), "utf-8"
    )
    uv("build", "--quiet", "--sdist", "--wheel", "--out-dir", out, tree)
    (out / ".gitignore").unlink(missing_ok=True)  # uv's
    archives = [
        out / f"smolagents-{version}.tar.gz",
        out / f"smolagents-{version}-py3-none-any.whl",
    ]
    missing = [path.name for path in archives if not path.is_file()]
    if missing:
        raise ReleaseError(f"the build did not make {', '.join(missing)}")
    pinned = _pin(project)
    hashes = [f"    --hash=sha256:{_digest(archive)}" for archive in sorted(archives)]
    own = " \\\n".join([f"smolagents=={version}", *hashes])
    (out / "constraints.txt").write_text(f"{pinned}{own}\n", "utf-8")
    _write_sbom(pinned, version, out / f"smolagents-{version}.cdx.json", uv)
    _write_sums(out)


def _pin(project: Project) -> str:
    """Pin what the fork needs, with hashes, for every system and supported Python."""
    fields = project_fields(project.root)
    requirements = [
        *fields["dependencies"],
        *(text for name in CONSTRAINED_EXTRAS for text in fields["optional-dependencies"][name]),
    ]
    oldest = load(project.lock).requires_python.removeprefix(">=")
    return compile_requirements(requirements, oldest, "--generate-hashes")


def _write_sbom(pinned: str, version: str, path: Path, uv: Uv) -> None:
    """Write a CycloneDX bill of materials: the fork and the pinned packages."""
    with tempfile.TemporaryDirectory() as scratch:
        requirements, described = Path(scratch, "pinned.txt"), Path(scratch, "pyproject.toml")
        requirements.write_text(pinned, "utf-8")
        described.write_text(
            f'[project]\nname = "smolagents"\nversion = "{version}"\nlicense = "Apache-2.0"\n',
            "utf-8",
        )
        uv(
            "tool", "run", "--quiet", "--from", _SBOM_TOOL, "cyclonedx-py", "requirements",
            "--pyproject", described, "--mc-type", "library", "--output-reproducible",
            "--output-format", "JSON", "--output-file", path, requirements,
        )  # fmt: skip


def _write_sums(out: Path) -> None:
    names = sorted(path.name for path in out.iterdir())
    lines = [f"{_digest(out / name)}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(lines), "utf-8")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""The fork's ``smolagents`` package, built in memory: verify, prune, apply, stamp.

Nothing is written before every step has succeeded. Upstream's installed files are read but never
edited, because uv hard-links build environments to its cache.
"""

from __future__ import annotations

from pathlib import Path

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.patchfile import apply_patch
from buildsys.release import PACKAGE, installed_release, verified_release
from buildsys.series import load_prune_list, load_series
from buildsys.stamps import apply_stamps, notice_stamps, version_stamp
from buildsys.version import fork_version

__all__ = ["fork_tree", "pruned_package", "write_tree"]


def pruned_package(release: dict[str, bytes], prune: list[str]) -> dict[str, bytes]:
    """Return the release's package without the files that ``prune.list`` names.

    The series applies to this base.

    Args:
        release: every file of the release by relative path.
        prune: paths to drop.

    Raises:
        BuildError: a path to prune does not exist.
    """
    package = {path: data for path, data in release.items() if path.startswith(f"{PACKAGE}/")}
    for path in prune:
        if package.pop(path, None) is None:
            raise BuildError(f"patches/prune.list: {path!r} is not in the release; drop the entry")
    return package


def fork_tree(root: Path, site: Path | None = None) -> dict[str, bytes]:
    """Return the patched and stamped package.

    Args:
        root: top folder of the repository or of an unpacked source distribution.
        site: folder that contains upstream's release; None finds the installed one.

    Returns:
        File bytes by relative path, each below ``smolagents/``.

    Raises:
        BuildError: any step failed; names file, line and what was expected.
    """
    lock = lockfile.load(root / "upstream.lock")
    version = fork_version(root / "smolagents_fork" / "_version.py", lock)
    release = verified_release(site or installed_release(lock), lock)
    patches = load_series(root / "patches")
    tree = pruned_package(release, load_prune_list(root / "patches"))
    for patch in patches:
        tree = apply_patch(patch, tree)
    stamps = [version_stamp(lock.version, version)]
    return apply_stamps(tree, stamps + notice_stamps(patches, stamps, version))


def write_tree(tree: dict[str, bytes], folder: Path) -> None:
    """Write a tree below an existing folder."""
    for name, data in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

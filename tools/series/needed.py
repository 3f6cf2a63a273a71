"""The package without one patch, to find out whether the patch is still needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from buildsys.errors import BuildError
from buildsys.patchfile import Patch, apply_patch
from buildsys.stamps import apply_stamps, version_stamp

__all__ = ["tree_of", "tree_without"]


def tree_of(
    base: Mapping[str, bytes], patches: Sequence[Patch], upstream_version: str
) -> dict[str, bytes]:
    """Return the package with patches and a version of the fork.

    Args:
        base: the pruned release.
        patches: the patches to apply, in order.
        upstream_version: the release's version.

    Raises:
        BuildError: a patch does not apply.
    """
    tree = dict(base)
    for patch in patches:
        tree = apply_patch(patch, tree)
    return apply_stamps(tree, [version_stamp(upstream_version, f"{upstream_version}+fork.1")])


def tree_without(
    base: Mapping[str, bytes], patches: Sequence[Patch], left_out: Patch, upstream_version: str
) -> dict[str, bytes]:
    """Return the same without one patch; if later ones need it, with the patches before it only."""
    others = [patch for patch in patches if patch is not left_out]
    try:
        return tree_of(base, others, upstream_version)
    except BuildError:
        return tree_of(base, others[: patches.index(left_out)], upstream_version)

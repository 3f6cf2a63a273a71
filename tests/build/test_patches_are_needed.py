"""Each patch of the series has a test that fails without it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.patchfile import Patch, apply_patch
from buildsys.release import verified_release
from buildsys.series import load_prune_list, load_series
from buildsys.stamps import apply_stamps, version_stamp
from buildsys.tree import pruned_package, write_tree
from tools.paths import ROOT, Project
from tools.series.message import parse_message

pytestmark = pytest.mark.network

SERIES = load_series(Project().patches)


def release(site) -> tuple[dict[str, bytes], str]:
    lock = lockfile.load(ROOT / "upstream.lock")
    base = pruned_package(verified_release(site, lock), load_prune_list(Project().patches))
    return base, lock.version


def tree_of(base: dict[str, bytes], patches: list[Patch], version: str) -> dict[str, bytes]:
    """The package with patches and a version of the fork."""
    tree = dict(base)
    for patch in patches:
        tree = apply_patch(patch, tree)
    return apply_stamps(tree, [version_stamp(version, f"{version}+fork.1")])


def tree_without(base: dict[str, bytes], left_out: Patch, version: str) -> dict[str, bytes]:
    """The same without one patch; if later ones need it, with the patches before it only."""
    others = [patch for patch in SERIES if patch is not left_out]
    try:
        return tree_of(base, others, version)
    except BuildError:
        return tree_of(base, others[: SERIES.index(left_out)], version)


def run_tests(tests: tuple[str, ...], folder) -> subprocess.CompletedProcess[str]:
    """Run tests with the package of that folder in front of the installed one."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            # Each of the processes would import plug-ins that these tests do not use.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.parametrize("patch", SERIES, ids=lambda patch: patch.name)
def test_named_tests_fail_without_the_patch(patch, pristine_site, tmp_path):
    base, version = release(pristine_site)
    write_tree(tree_without(base, patch, version), tmp_path)
    tests = tuple(parse_message(patch.header).trailers["Test"])
    done = run_tests(tests, tmp_path)
    assert done.returncode == 1, done.stdout
    passed = [test for test in tests if f"\nFAILED {test}" not in done.stdout]
    assert passed == [], f"without {patch.name}:\n{done.stdout}"


def test_named_tests_pass_with_the_series(pristine_site, tmp_path):
    base, version = release(pristine_site)
    write_tree(tree_of(base, SERIES, version), tmp_path)
    tests = [test for patch in SERIES for test in parse_message(patch.header).trailers["Test"]]
    done = run_tests(tuple(tests), tmp_path)
    assert done.returncode == 0, done.stdout

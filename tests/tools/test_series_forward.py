"""Pull requests for upstream apply to the release, and their tests need them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rebase_harness import LOCKED, all_files
from whole_contract import WHOLE

from buildsys.patchfile import apply_patch, parse_patch
from buildsys.tree import write_tree
from tools.command import clean_environment
from tools.paths import CACHE, ROOT
from tools.upstream.fetch import fetch_sdist, unpack_sdist

pytestmark = pytest.mark.network
FORWARDED = sorted((ROOT / "docs" / "forward").glob("*.patch"))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    release = unpack_sdist(fetch_sdist(LOCKED, CACHE), tmp_path_factory.mktemp("sdist"))
    return {name: data for name, data in all_files(release).items() if name.startswith("src/")}


def run_tests(tree: dict[str, bytes], folder: Path, tests: list[str]) -> int:
    write_tree(tree, folder)
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=folder,
        env={
            **clean_environment(),
            "PYTHONPATH": str(folder / "src"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        timeout=300,
        check=False,
    ).returncode


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.parametrize("file", FORWARDED, ids=lambda file: file.stem)
def test_pull_request_applies_and_its_tests_need_it(file, sources, tmp_path):
    patch = parse_patch(file.name, file.read_bytes())
    tree = apply_patch(patch, dict(sources))
    tests = [path for path in patch.paths if path.startswith("tests/")]
    assert tests
    assert not any(b"smolagents_fork" in tree[path] for path in patch.paths)
    assert run_tests(tree, tmp_path / "with", tests) == 0
    without = sources | {path: tree[path] for path in tests}
    assert run_tests(without, tmp_path / "without", tests) == 1

"""The real series on what upstream's next release could be, by docs/rebase.md alone.

The made release (made_release.py) is served to pip from a folder. It also contains one patch, and
has a new parameter of ``CodeAgent`` where a patch adds its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_release import ENTRY_POINTS, made_release
from rebase_harness import LOCKED, Rebase, checkout_copy, next_release, snapshot

from buildsys import lock as lockfile
from buildsys.patchfile import apply_patch
from buildsys.series import load_series, series_names
from buildsys.version import read_version_file
from tools.paths import CACHE, ROOT
from tools.rebase import trial
from tools.upstream.fetch import fetch_sdist, fetch_wheel
from tools.upstream.relock import lock_of_release

pytestmark = [pytest.mark.broad, pytest.mark.network, pytest.mark.slow]

AGENTS = "smolagents/agents.py"
CONTAINED = "step-records.patch"
OLD_PARAMETER = b"        code_block_tags: str | tuple[str, str] | None = None,\n        **kwargs"
NEW_PARAMETER = OLD_PARAMETER.replace(
    b"        **kwargs", b"        execution_timeout_seconds: int | None = None,\n        **kwargs"
)
#: The part of the contract suite that looks at upstream's interface; all of it takes minutes.
CONTRACT = (
    "tests/contract/test_executor_class.py",
    "tests/contract/test_executor_names.py",
    "tests/contract/test_public_names.py",
    "tests/contract/test_saving.py",
    "tests/contract/test_upstream_signatures.py",
)
#: What a person decides about the new parameters and the new executor, by the file of the test.
DECISIONS = {
    "test_upstream_signatures.py": {
        '"executor",': '"executor", "execution_timeout_seconds",',
        "frozenset[str]] = {}": (
            'frozenset[str]] = {"DockerExecutor": frozenset({"execution_timeout_seconds"})}'
        ),
    },
    "test_executor_class.py": {
        "UPSTREAMS_OWN: frozenset[str] = frozenset()": 'UPSTREAMS_OWN = frozenset({"daytona"})'
    },
}
REGION = re.compile(
    r"^<<<<<<< .*\n(?P<upstream>(?:.*\n)*?)\|{7} .*\n(?P<base>(?:.*\n)*?)=======\n"
    r"(?P<patch>(?:.*\n)*?)>>>>>>> .*\n",
    re.MULTILINE,
)


def keep_both(match: re.Match[str]) -> str:
    upstream, base, patch = match.group("upstream", "base", "patch")
    if patch.endswith(base):
        return patch.removesuffix(base) + upstream
    return upstream + patch.removeprefix(base)


@pytest.fixture
def rebase(release, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rebase:
    monkeypatch.setattr(trial, "CONTRACT", CONTRACT)
    return Rebase(checkout_copy(tmp_path / "project"), links, contract=True)


@pytest.mark.limit(1800)
def test_series_reaches_the_next_release_by_the_page_alone(rebase, links, release):
    project = rebase.project
    committed = series_names(project.patches)
    (patch,) = (one for one in load_series(project.patches) if one.name.endswith(CONTAINED))
    coming = made_release(apply_patch(patch, release))
    assert coming[AGENTS].count(OLD_PARAMETER) == 1
    coming[AGENTS] = coming[AGENTS].replace(OLD_PARAMETER, NEW_PARAMETER)
    version = next_release(links, coming, ENTRY_POINTS)
    before = snapshot(project)
    status, said = rebase("start")
    assert status == 1, said
    assert f"conflict: patches/executor-class.patch does not fit upstream {version}" in said
    rebase.agents.write_text(REGION.sub(keep_both, rebase.agents.read_text()))
    rebase.git("add", AGENTS)
    status, said = rebase("continue")
    assert status == 1, said
    assert "CodeAgent takes {'execution_timeout_seconds'}" in said
    assert "upstream's DockerExecutor takes {'execution_timeout_seconds'}" in said
    assert "test_names_are_upstreams_and_two_more" in said
    assert said.count("\nFAILED ") + said.count(": failed: ") == 3, said
    assert snapshot(project) == before
    for name, decisions in DECISIONS.items():
        test = project.root / "tests" / "contract" / name
        text = test.read_text()
        for old, new in decisions.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
        test.write_text(text)
    status, said = rebase("continue")
    assert status == 0, said
    assert "FAILED" not in said
    assert "| `executor-class.patch` | resolved |" in said
    assert f"`{CONTAINED}` is dropped: upstream {version} contains it" in said
    assert f"| tests of `{CONTAINED}` (dropped) | 5 passed |" in said
    assert series_names(project.patches) == [name for name in committed if name != CONTAINED]
    assert read_version_file(project.version_file) == (version, 1)
    assert f"`{CONTAINED}` is dropped: " in project.changelog.read_text()
    entries = lockfile.load(project.lock).entry_points["smolagents.executors"]
    assert entries == ENTRY_POINTS["smolagents.executors"]


def test_locked_release_is_locked_again_with_the_same_lock():
    wheel, sdist = fetch_wheel(LOCKED, CACHE), fetch_sdist(LOCKED, CACHE)
    assert lock_of_release(LOCKED, wheel, sdist) == lockfile.load(ROOT / "upstream.lock")

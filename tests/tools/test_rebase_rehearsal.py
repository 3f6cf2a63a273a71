"""The real series on what upstream's next release could be, by docs/rebase.md alone.

The made release is the locked one with edits, served to pip from a folder. It contains one patch,
has executors of one more name, and takes the options of ``CodeAgent`` by keyword only.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rebase_harness import LOCKED, Rebase, checkout_copy, next_release, snapshot

from buildsys import lock as lockfile
from buildsys.patchfile import apply_patch
from buildsys.series import load_series, series_names
from buildsys.version import read_version_file
from tools.paths import CACHE, PATCHES, ROOT
from tools.upstream.fetch import fetch_sdist, fetch_wheel
from tools.upstream.relock import lock_of_release

pytestmark = [pytest.mark.network, pytest.mark.slow]

AGENTS = "smolagents/agents.py"
CONTAINED = "export-executor-types.patch"
EDITS = {
    b'"modal", "docker"}:': b'"modal", "docker", "daytona"}:',
    b'"docker": DockerExecutor,': b'"docker": DockerExecutor, "daytona": PythonExecutor,',
    b"        prompt_templates: PromptTemplates | None = None,\n"
    b"        additional_authorized_imports: list[str] | None = None,\n": (
        b"        *,\n"
        b"        additional_authorized_imports: list[str] | None = None,\n"
        b"        prompt_templates: PromptTemplates | None = None,\n"
    ),
    b"        code_block_tags: str | tuple[str, str] | None = None,\n        **kwargs": (
        b"        code_block_tags: str | tuple[str, str] | None = None,\n"
        b"        execution_timeout_seconds: int | None = None,\n        **kwargs"
    ),
}
# What a maintainer makes of the hook that assumed defaults by place.
BY_PLACE = (
    "    __init__.__defaults__ = "
    'tuple(None if value == "local" else value for value in __init__.__defaults__)\n'
)
BY_KEYWORD = '    __init__.__kwdefaults__["executor_type"] = None\n'
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
def rebase(release, links: Path, tmp_path: Path) -> Rebase:
    return Rebase(checkout_copy(tmp_path / "project"), links)


def test_series_reaches_the_next_release_by_the_page_alone(rebase, links, release):
    project = rebase.project
    committed = series_names(project.patches)
    (patch,) = (one for one in load_series(project.patches) if one.name.endswith(CONTAINED))
    coming = apply_patch(patch, release)
    for old, new in EDITS.items():
        assert coming[AGENTS].count(old) == 1, old
        coming[AGENTS] = coming[AGENTS].replace(old, new)
    version = next_release(links, coming)
    before = snapshot(project)
    status, said = rebase("start")
    assert status == 1, said
    assert f"conflict: patches/executor-class.patch does not fit upstream {version}" in said
    rebase.agents.write_text(REGION.sub(keep_both, rebase.agents.read_text()))
    rebase.git("add", AGENTS)
    status, said = rebase("continue")
    assert status == 1, said
    assert "`import smolagents` fails with the new wheel:" in said
    assert "TypeError: 'NoneType' object is not iterable" in said
    assert snapshot(project) == before
    text = rebase.agents.read_text()
    assert text.count(BY_PLACE) == 1
    rebase.agents.write_text(text.replace(BY_PLACE, BY_KEYWORD))
    rebase.git("commit", "--all", "--fixup", ":/Take an executor by class")
    rebase.git("rebase", "--interactive", "--autosquash", f"upstream/{version}")
    status, said = rebase("continue")
    assert status == 0, said
    assert "FAILED" not in said
    assert "| `executor-class.patch` | resolved |" in said
    assert f"`{CONTAINED}` is dropped: upstream {version} contains it" in said
    assert f"| tests of `{CONTAINED}` (dropped) | 1 passed |" in said
    assert series_names(project.patches) == [name for name in committed if name != CONTAINED]
    assert read_version_file(project.version_file) == (version, 1)
    assert f"`{CONTAINED}` is dropped: " in project.changelog.read_text()
    assert "__kwdefaults__" in (project.patches / "executor-class.patch").read_text()


def test_locked_release_is_locked_again_with_the_same_lock():
    wheel, sdist = fetch_wheel(LOCKED, CACHE), fetch_sdist(LOCKED, CACHE)
    assert lock_of_release(LOCKED, wheel, sdist) == lockfile.load(ROOT / "upstream.lock")


def test_contained_patch_is_one_of_the_series():
    assert CONTAINED in series_names(PATCHES)

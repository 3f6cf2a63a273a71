"""Pull requests for upstream apply to the release, and their tests need them."""

from __future__ import annotations

import pytest
from whole_contract import WHOLE

from buildsys import lock as lockfile
from tools.paths import CACHE, ROOT
from tools.series.forward import check_forwarded, load_forwarded, sources_of
from tools.upstream.fetch import fetch_sdist, unpack_sdist

pytestmark = pytest.mark.network
FORWARDED = load_forwarded(ROOT / "docs" / "forward")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    sdist = fetch_sdist(lockfile.load(ROOT / "upstream.lock").version, CACHE)
    return sources_of(unpack_sdist(sdist, tmp_path_factory.mktemp("sdist")))


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_pull_requests_apply_and_their_tests_need_them(sources, tmp_path):
    assert len(FORWARDED) == 4
    assert check_forwarded(FORWARDED, sources, tmp_path) == []


def written(tmp_path, *changes):
    text = (ROOT / "docs" / "forward" / "agent-cleanup.patch").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "changed.patch").write_text(text)
    return load_forwarded(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("-        if hasattr(self.python_executor", "-        if hasattr(self.executor")],
         "does not apply"),
        ([('getattr(self, "python_executor", None)', "None")], "its tests fail"),
        ([("+    agent.cleanup()\n+\n", '+    vars(agent).get("x")\n+\n')], "pass without it"),
        ([("+import pytest", "+import pytest  # smolagents_fork")], "names the fork"),
    ],
    ids=["context", "repair", "test", "fork"],
)  # fmt: skip
def test_pull_request_that_upstream_could_not_take_is_found(sources, tmp_path, changes, words):
    (found,) = check_forwarded(written(tmp_path, *changes), sources, tmp_path / "scratch")
    assert words in found

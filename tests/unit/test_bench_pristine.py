"""Upstream's environment for a benchmark: of the locked wheel."""

from __future__ import annotations

import pytest

from buildsys.lock import load
from tools.bench.pristine import pristine_python
from tools.errors import FetchError
from tools.paths import Project


def test_wheel_other_than_the_locked_one_is_refused(tmp_path):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    cache = tmp_path / "build" / "cache"
    cache.mkdir(parents=True)
    (cache / load(Project().lock).wheel.filename).write_bytes(b"another")
    with pytest.raises(FetchError, match=r"\.whl: sha256 is [0-9a-f]{64}, expected [0-9a-f]{64}; "):
        pristine_python(["docker"], [], Project(tmp_path))

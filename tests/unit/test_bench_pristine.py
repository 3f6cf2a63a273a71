"""Upstream's environment for a benchmark: made once, of the locked wheel."""

from __future__ import annotations

import pytest

from buildsys.lock import load
from tools.bench import pristine
from tools.bench.pristine import pristine_python
from tools.errors import FetchError
from tools.paths import Project


def test_wheel_other_than_the_locked_one_is_refused(tmp_path):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    cache = tmp_path / "build" / "cache"
    cache.mkdir(parents=True)
    (cache / load(Project().lock).wheel.filename).write_bytes(b"another")
    with pytest.raises(FetchError, match="is not the lock's"):
        pristine_python(["docker"], [], project=Project(tmp_path))


def test_complete_environment_is_reused(tmp_path, monkeypatch):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())
    built: list[str] = []
    monkeypatch.setattr(pristine, "fetch_wheel", lambda *_: built.append("wheel") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pristine_python([], [], project=Project(tmp_path))
    (lock,) = (tmp_path / "build" / "bench").glob("*.lock")
    folder = lock.with_suffix("")
    folder.mkdir()
    (folder / "complete").touch()
    assert pristine_python([], [], project=Project(tmp_path)) == folder / "bin" / "python"
    assert built == ["wheel"]

"""The runner collects every test, limits the time of each, and stops at a dead worker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tools.paths import ROOT

TESTS = ROOT / "tests"


def test_every_test_folder_is_collected(pytestconfig: pytest.Config) -> None:
    # pytest's own list names "build" and "dist", for instance.
    patterns = pytestconfig.getini("norecursedirs")
    files = [file.relative_to(TESTS) for file in TESTS.rglob("test_*.py")]
    left_out = [
        str(file)
        for file in files
        if file.parts[0] != "upstream"  # files laid over upstream's tests
        and any(fnmatch(part, pattern) for part in file.parts[:-1] for pattern in patterns)
    ]
    assert left_out == []
    assert Path("build/test_tree.py") in files


def test_every_test_file_has_a_name_of_its_own() -> None:
    # pytest imports them by their base name: two of one name end each run that collects both.
    names = Counter(file.name for file in TESTS.rglob("test_*.py") if "upstream" not in file.parts)
    assert [name for name, count in names.items() if count > 1] == []


# After a failure pytest stops the timers that it knows, and the pattern keeps the interpreter's
# lock for longer than anyone waits.
HANGS = """
import re
import pytest

@pytest.fixture
def hanging():
    yield
    re.match("(a+)+$", "a" * 100 + "b")

@pytest.mark.limit(2)
def test_that_hangs_after_it_failed(hanging):
    assert False
"""
GOES_ON = """
import time

def test_that_goes_on():
    time.sleep(5)
"""


@pytest.mark.slow
def test_hung_test_ends_its_worker_and_the_run(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(TESTS / "conftest.py", tests)
    (tests / "hypothesis.py").write_text("raise ImportError\n")
    (tests / "test_hangs.py").write_text(HANGS)
    (tests / "test_goes_on.py").write_text(GOES_ON)
    options = ("-p", "xdist", "-n", "2", "--dist", "loadfile", "--max-worker-restart=0")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        # Other plug-ins would be imported by each of three processes, and not used.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    name = "tests/test_hangs.py::test_that_hangs_after_it_failed"
    assert done.returncode == 1, done.stdout
    assert re.search(r"worker gw\d crashed and worker restarting disabled", done.stdout)
    assert re.search(rf"worker 'gw\d' crashed while running '{re.escape(name)}'", done.stdout)
    assert "Timeout (0:00:02)!" in done.stderr
    assert re.search(r'test_hangs.py", line \d+ in hanging', done.stderr)

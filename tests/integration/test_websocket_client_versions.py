"""The host's end of a WebSocket passes its tests with the oldest admitted websocket-client, too.

The newest one is what all other tests run with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from buildsys.metadata import ADDED_DEPENDENCIES

TESTS = Path(__file__).parents[1] / "unit/jupyter"


@pytest.mark.network
@pytest.mark.slow
def test_oldest_admitted_version(tmp_path):
    (bound,) = [name for name in ADDED_DEPENDENCIES if name.startswith("websocket-client>=")]
    oldest = bound.partition(">=")[2]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path]
    subprocess.run([*pip, f"websocket-client=={oldest}"], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    version = [sys.executable, "-c", "import websocket; print(websocket.__version__)"]
    told = subprocess.run(version, env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == f"{oldest}\n"
    names = ("test_gateway_ends", "test_frames", "test_pings", "test_long_messages")
    tests = [TESTS / f"{name}.py" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:]

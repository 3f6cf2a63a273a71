"""Without an engine a test that needs one is skipped with the reason, or fails when required."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools.paths import ROOT

#: One whose marker is its own, and a file whose parameter for Docker has it.
MARKED = [
    "tests/integration/test_demo.py::test_demo_with_an_engine_answers_in_a_container",
    "tests/contract/executors/test_contract_state.py",
]


@pytest.mark.parametrize("required", ["", "1"])
def test_engine_that_is_absent(required):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rsE",
            "-p",
            "no:cacheprovider",
            "-m",
            "docker",
            *MARKED,
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "DOCKER_HOST": "unix:///nonexistent/docker.sock",
            "REQUIRE_DOCKER": required,
            "COLUMNS": "300",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "no container engine answers at unix:///nonexistent/docker.sock" in done.stdout
    reported = [line for line in done.stdout.splitlines() if line.startswith(("ERROR", "SKIPPED"))]
    for test in MARKED:
        assert any(test.partition("::")[0] in line for line in reported), done.stdout
    if required:
        assert done.returncode == 1, done.stdout
        assert "REQUIRE_DOCKER=1, but" in done.stdout
        assert "skipped" not in done.stdout
    else:
        assert done.returncode == 0, done.stdout

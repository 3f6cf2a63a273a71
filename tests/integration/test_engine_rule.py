"""Without an engine a test that needs one is skipped with the reason, or fails when required."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools.paths import ROOT


@pytest.mark.parametrize(
    "test",
    [
        "tests/integration/test_demo.py::test_demo_with_an_engine_answers_in_a_container",
        "tests/contract/executors/test_contract_state.py",
    ],
)
@pytest.mark.parametrize("required", ["", "1"])
def test_engine_that_is_absent(test, required):
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
            test,
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "DOCKER_HOST": "unix:///nonexistent/docker.sock",
            "REQUIRE_DOCKER": required,
            "COLUMNS": "300",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "no container engine answers at unix:///nonexistent/docker.sock" in done.stdout
    if required:
        assert done.returncode == 1, done.stdout
        assert "REQUIRE_DOCKER=1, but" in done.stdout
    else:
        assert done.returncode == 0, done.stdout
        assert "SKIPPED" in done.stdout

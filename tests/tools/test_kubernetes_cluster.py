"""The command that runs others on a cluster: what it leaves out, and what it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.errors import ToolError
from tools.kubernetes_cluster import __main__ as command
from tools.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="clusters run on Linux")


def build_with(
    programs: Path, scripts: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the build with only these programs."""
    programs.mkdir()
    for name, script in scripts.items():
        path = programs / name
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)
    environment = {"PATH": str(programs), "HOME": str(programs), **variables}
    return subprocess.run(
        [sys.executable, "-m", "tools.kubernetes_cluster"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


BUILDERS = {"go": "", "rsync": "", "dpkg-source": "", "make": ""}


@pytest.mark.parametrize(("required", "status"), [("1", 3), ("", 0)])
def test_missing_source_package_is_said_and_has_its_own_status(tmp_path, required, status):
    scripts = {**BUILDERS, "apt-get": "echo 'E: Unable to find a source package'; exit 100"}
    done = build_with(tmp_path / "programs", scripts, REQUIRE_KUBERNETES=required)
    assert done.returncode == status
    assert "left out: the source package cannot be downloaded: `apt-get" in done.stdout


def test_missing_compiler_is_a_failure_where_a_cluster_is_required(tmp_path):
    done = build_with(tmp_path / "programs", {}, REQUIRE_KUBERNETES="1")
    assert done.returncode == 1
    assert "the packages golang-go rsync dpkg-dev make: install them" in done.stdout


def test_command_that_runs_too_long_is_ended(tmp_path):
    file = tmp_path / "pid"
    script = f"echo $$ >{file}; sleep 600 & wait"
    with pytest.raises(ToolError, match="ran past KUBERNETES_SECONDS=1 "):
        command._run(["sh", "-c", script], os.environ, 1.0)
    if file.exists():  # a busy machine may not have begun it
        assert not Path("/proc", file.read_text().strip()).exists()


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="a source distribution carries no CI")
def test_ci_knows_the_status_of_a_missing_source_package():
    line = f"SOURCE_UNAVAILABLE={command._SOURCE_UNAVAILABLE}"
    assert line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()

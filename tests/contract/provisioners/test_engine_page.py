"""The page about engines: its example passes the contract, and an executor runs on it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from background import run_python
from filelock import FileLock

from examples.job_engine import JobEngine
from smolagents_fork import DockerExecutor
from tests.site.page_walk import write_files
from tools.paths import ROOT

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image's packages and its main process, installed once for all workers of a run."""
    requirements = ROOT / "docker" / "jupyter" / "requirements.txt"
    base = tmp_path_factory.getbasetemp()
    if base.name.startswith("popen-"):  # a worker's
        base = base.parent
    folder = base / f"kernel-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    with FileLock(base / "kernel.lock"):
        if not (folder / "complete").exists():
            uv = [sys.executable, "-m", "uv"]
            install = [*uv, "pip", "install", "--python", str(python), "--no-deps"]
            for command in (
                [*uv, "venv", "--clear", "--python", sys.executable, str(folder)],
                [*install, "--require-hashes", "-r", str(requirements)],
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
            shutil.copy(ROOT / "docker" / "jupyter" / "kernel_server.py", folder)
            (folder / "complete").touch()
    return folder


def test_example_passes_the_contract_and_runs_code(kernel_folder: Path, tmp_path: Path) -> None:
    write_files(ROOT / "docs" / "guides" / "own-engine.md", tmp_path)
    (tmp_path / "kernel").symlink_to(kernel_folder)
    program = (tmp_path / "run.py").read_text("utf-8")
    # A test may be root, whose jobs are, too.
    here = f'"{tmp_path}/job", allow_root=True'
    (tmp_path / "run.py").write_text(program.replace('"/tmp/job"', here), "utf-8")
    for arguments, printed in (
        (["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_job_engine.py"], "17 passed"),
        (["run.py"], "42"),
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert printed in done.stdout, done.stdout + done.stderr


def test_sandbox_has_environment_folder_and_memory_of_its_options(
    kernel_folder: Path, tmp_path: Path
) -> None:
    workdir = str(tmp_path / "work")
    with DockerExecutor(
        engine=JobEngine(),
        image=str(kernel_folder),
        workdir=workdir,
        environment={"ASKED": "for"},
        memory="1g",
        allow_root=True,
        startup_timeout_seconds=180,
    ) as executor:
        asked = executor("import os\nos.environ['ASKED'], os.getcwd()").output
        assert asked == ("for", workdir)
        refused = "try: len(b'x' * (3 << 30))\nexcept MemoryError: ended = 'refused'\nended"
        assert executor(refused).output == "refused"


def test_contract_needs_no_pytest() -> None:
    program = "import sys, smolagents_fork.testing; print('pytest' in sys.modules)"
    assert run_python(program) == "False\n"

"""``make demo`` as a user sees it: on Docker, and where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from smolagents import LocalPythonExecutor
from smolagents.monitoring import AgentLogger
from smolagents.utils import AgentGenerationError
from whole_contract import WHOLE, every

from examples.__main__ import EXAMPLES, main
from examples.orders import ROWS, best_region, write_orders
from examples.sandbox import choose_executor
from smolagents_fork import ProcessExecutor
from smolagents_fork.process.confinement_report import Kernel
from tools.paths import ROOT

# Seconds; the first run may have to build the image.
TIMEOUT_SECONDS = 400


def demo(example: str = "demo", **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"HF_TOKEN", "OPENAI_API_KEY"}
    }
    return subprocess.run(
        [sys.executable, "-m", "examples", example],
        cwd=ROOT,
        env={**kept, "COLUMNS": "160", "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def assert_answers(done: subprocess.CompletedProcess[str], executor: str) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        f"orders.csv, {ROWS} rows generated from seed",
        "a scripted model with prepared steps",
        f"Executor: {executor}",
        "Executing parsed code:",
        "Execution logs:",
        "orders were returned",
        "Step 3",
        "Computed directly from the file: the same.",
    ):
        assert words in done.stdout, done.stdout


def test_data_set_is_the_same_for_everybody(tmp_path):
    path = write_orders(tmp_path / "a" / "orders.csv")
    again = write_orders(tmp_path / "b" / "orders.csv")
    assert path.read_bytes() == again.read_bytes()
    assert len(path.read_text("utf-8").splitlines()) == ROWS + 1 > 1000
    assert best_region(path)[0] in {"north", "east", "south", "west"}


def test_demo_without_an_engine_says_why_and_answers_in_a_process():
    done = demo(DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert_answers(
        done,
        "ProcessExecutor: a process that the kernel confines, since Docker is not available",
    )


def test_demo_where_the_kernel_cannot_confine_answers_locally(monkeypatch):
    monkeypatch.delenv("EXECUTOR", raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setattr(ProcessExecutor, "kernel", Kernel(landlock=0))
    executor_class, _, words = choose_executor()
    assert executor_class is LocalPythonExecutor
    assert words.startswith("the local interpreter, since Docker is not available")
    assert "this machine cannot confine the code" in words


@pytest.mark.docker
def test_demo_with_an_engine_answers_in_a_container():
    assert_answers(demo(), "DockerExecutor: Docker, since an engine responds")


def test_demo_on_an_executor_that_there_is_not():
    done = demo(EXECUTOR="nosuch")
    assert done.returncode == 1
    assert "EXECUTOR='nosuch': one of docker, local, process, wasm" in done.stderr


def managed_agents(**environment: str) -> str:
    done = demo("managed_agents", **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Answer:   {'price': 240.0, 'tax': 45.6}" in done.stdout
    assert "The store was asked 1 time(s), on this machine." in done.stdout
    return done.stdout


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_managed_agents_example_runs_in_processes():
    printed = managed_agents(DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert "Executor: ProcessExecutor" in printed


@pytest.mark.docker
def test_managed_agents_example_runs_in_containers():
    assert "Executor: DockerExecutor" in managed_agents()


@pytest.mark.docker
def test_quickstart_example_runs_in_a_container():
    done = demo("docker_quickstart")
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "mean: 2.8",
        "tool of the host: How many? 42",
        "lines: 2",
        "stopped: code ran past timeout_seconds=2",
        "still there: [3, 1, 4, 1, 5]",
    ):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    every(
        2,
        [
            ("process", "ProcessExecutor: a child process"),
            ("local", "LocalPythonExecutor: this process"),
            pytest.param("wasm", "WasmExecutor: Python in WebAssembly", marks=pytest.mark.wasm),
            pytest.param("docker", "DockerExecutor: a container", marks=pytest.mark.docker),
        ],
    ),
)
def test_report_example_takes_a_file_in_and_brings_a_chart_out(name, words):
    """On the executor that EXECUTOR names."""
    chart = ROOT / "build" / "demo" / "chart.svg"
    chart.unlink(missing_ok=True)
    done = demo("report", EXECUTOR=name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Executor: {words}" in done.stdout
    assert f"File:     chart.svg, {chart.stat().st_size} bytes\n" in done.stdout
    bars = ElementTree.parse(chart).findall(".//{http://www.w3.org/2000/svg}rect")
    assert max(int(bar.get("width")) for bar in bars) == 500
    assert len(bars) == 4


def test_an_example_that_needs_an_engine_says_so_in_a_line():
    done = demo("docker_quickstart", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 1
    assert done.stderr.startswith("docker_quickstart: EngineUnavailableError: no container engine")
    assert "Traceback" not in done.stderr


def test_a_model_that_cannot_be_asked_is_told_of(monkeypatch, capsys):
    def unreachable() -> int:
        raise AgentGenerationError("Error in generating model output:\nno such host", AgentLogger())

    monkeypatch.setattr("examples.demo.main", unreachable)
    assert main([]) == 1
    said = capsys.readouterr().err
    assert "no such host\nThe model could not be reached. Without HF_TOKEN" in said


def test_an_example_that_there_is_not_names_those_there_are(capsys):
    assert main(["nosuch"]) == 2
    said = capsys.readouterr().err
    assert (
        said == "no example 'nosuch'; there are: demo, docker_quickstart, managed_agents, report\n"
    )
    with_main = {
        path.stem
        for path in (ROOT / "examples").glob("[!_]*.py")
        if "def main(" in path.read_text()
    }
    assert with_main == set(EXAMPLES)

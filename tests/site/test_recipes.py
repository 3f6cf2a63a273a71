"""The recipes: their files and commands, with a double as the model and real executors."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import random
import re
from pathlib import Path

import docker.errors
import jupyter_client
import pytest
import yaml
from docker.types import DeviceRequest
from page_walk import answer, blocks, model_environment, walk
from private_index import serving, write_wheel

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import ExecutorStartError
from tests.chat_server import ChatServer
from tools.paths import ROOT

RECIPES = ROOT / "docs" / "recipes"
SERVICE = ROOT / "examples" / "service"
PODMAN = os.environ.get("PODMAN_SOCKET", "")


def walk_recipe(name: str, folder: Path, *answers: str, **more: str) -> None:
    with model_environment(ChatServer(*map(answer, answers)), **more) as env:
        walk(RECIPES / name, folder, env)


@pytest.mark.docker
def test_files_and_frames_go_in_and_out(engine, tmp_path):
    walk_recipe(
        "files.md",
        tmp_path,
        "import pandas as pd\n"
        "joined = pd.read_csv('orders.csv').merge(prices)\n"
        "joined.to_csv('report.csv', index=False)",
        "final_answer(float((joined.quantity * joined.price).sum()))",
    )


@pytest.mark.docker
def test_each_tenant_is_answered_by_a_tool_of_its_own(engine, tmp_path):
    walk_recipe("tenants.md", tmp_path, "final_answer(balance())")


@pytest.mark.slow
def test_ci_page_runs_its_tests_on_the_executor_of_the_variable(tmp_path):
    walk_recipe("ci.md", tmp_path)
    (workflow,) = [block for block in blocks(RECIPES / "ci.md") if block.language == "yaml"]
    jobs = yaml.safe_load(workflow.text)["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["executor"] == ["process", "docker"]


@pytest.mark.slow
@pytest.mark.skipif(not PODMAN, reason="PODMAN_SOCKET names no service of Podman's")
def test_agent_runs_in_a_container_of_podmans(tmp_path):
    code = "import os\nfinal_answer(os.getuid())"
    walk_recipe("podman.md", tmp_path, code, DOCKER_HOST=f"unix://{PODMAN}")


@pytest.mark.docker
def test_engine_without_a_gpu_refuses_the_request_in_its_own_words(engine):
    """The page is gpu.md."""
    if "nvidia" in engine.info()["Runtimes"]:
        pytest.skip("this engine has NVIDIA's runtime")
    gpus = DeviceRequest(count=-1, capabilities=[["gpu"]])
    with pytest.raises(ExecutorStartError, match="could not select device driver"):
        DockerExecutor(container_run_kwargs={"device_requests": [gpus]})


@pytest.mark.docker
def test_image_is_built_through_the_index_of_the_environment(
    engine, tmp_path, monkeypatch, request
):
    """The page is private-index.md."""
    name = f"only_here_{random.randrange(10**9)}"
    write_wheel(tmp_path, name, origin="the private index")
    (network,) = engine.networks.get("bridge").attrs["IPAM"]["Config"]
    address = str(ipaddress.ip_network(network["Subnet"])[1])  # this machine's on the bridge
    DockerExecutor.setup(progress=lambda _line: None)  # its packages are in no private index
    with serving(tmp_path) as port:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://{address}:{port}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", address)
        image = DockerExecutor.setup(requirements=[name], progress=lambda _line: None)

    def throw_away() -> None:
        with contextlib.suppress(docker.errors.APIError):
            engine.api.remove_image(image, force=True)

    request.addfinalizer(throw_away)
    assert f":{port}" not in str(engine.api.history(image))
    with DockerExecutor(requirements=[name]) as executor:
        assert executor(f"import {name}\n{name}.ORIGIN").output == "the private index"
        assert f":{port}" not in executor("import os\nstr(dict(os.environ))").output


def test_service_of_the_compose_file_is_the_example():
    """The page is compose.md."""
    (service,) = yaml.safe_load((SERVICE / "compose.yaml").read_text())["services"].values()
    dockerfile = (SERVICE / service["build"]["context"] / "Dockerfile").read_text()
    arguments = set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
    assert set(service["build"]["args"]) <= arguments
    assert (SERVICE / "app.py").is_file()
    assert "COPY app.py" in dockerfile
    (published,) = service["ports"]
    assert published.endswith(re.search(r'"--port", "(\d+)"', dockerfile)[1])
    assert published.startswith("127.0.0.1:"), "the service asks nobody who they are"


def test_sandboxes_are_reached_over_the_engines_socket():
    (service,) = yaml.safe_load((SERVICE / "compose.yaml").read_text())["services"].values()
    assert service["volumes"] == ["/var/run/docker.sock:/var/run/docker.sock"]
    assert "privileged" not in service
    assert "network_mode" not in service


@pytest.mark.slow
def test_notebook_keeps_variables_between_questions(tmp_path):
    model = ChatServer(
        answer("1 / 0"),
        answer("primes = [n for n in range(2, 50) if all(n % d for d in range(2, n))]"),
        answer("final_answer(len(primes))"),
        answer("final_answer(sum(primes))"),
    )
    cells = [block for block in blocks(RECIPES / "notebook.md") if block.title.startswith("cell")]
    with (
        model_environment(model) as env,
        jupyter_client.run_kernel(cwd=str(tmp_path), env=env) as kernel,
    ):
        printed = [shown(kernel, cell.text) for cell in cells[:3]]
        # Cell 1 again ends the sandbox of the first, without the garbage collector.
        shown(kernel, "import gc, os, time\ngc.disable()\nold = agent.python_executor.pid")
        shown(kernel, cells[0].text)
        is_there = "os.path.exists(f'/proc/{old}')"
        wait = f"[time.sleep(0.05) for _ in range(1000) if {is_there}]\n{is_there}"
        assert shown(kernel, wait) == "False"
        shown(kernel, cells[3].text)
    assert [printed[1], printed[2]] == ["15", "328"]


def shown(kernel: jupyter_client.BlockingKernelClient, code: str) -> str:
    """Run a cell and return the value that the notebook would show."""
    values = []

    def keep(message: dict) -> None:
        if message["msg_type"] == "execute_result":
            values.append(message["content"]["data"]["text/plain"])

    reply = kernel.execute_interactive(code, timeout=100, output_hook=keep)
    assert reply["content"]["status"] == "ok", reply["content"]
    return values[-1] if values else ""

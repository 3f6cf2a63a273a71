"""The recipes: their files and commands, with a double as the model and real executors."""

from __future__ import annotations

from pathlib import Path

import jupyter_client
import pytest
import yaml
from page_walk import answer, blocks, model_environment, walk

from tests.chat_server import ChatServer
from tools.paths import ROOT

RECIPES = ROOT / "docs" / "recipes"


def walk_recipe(name: str, folder: Path, *answers: str) -> None:
    with model_environment(ChatServer(*map(answer, answers))) as env:
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

"""Files of a job that runs a saved agent: settings of the sandbox, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smolagents_fork.agent_sandbox import saved_agent
from smolagents_fork.agent_sandbox.saved_agent import job_files
from smolagents_fork.codec import decode
from smolagents_fork.errors import ConfigurationError, EncodeError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved agent with a managed one, as far as the job's files look at it."""
    model = {"class": "OpenAIModel", "data": {"model_id": "m", "api_base": "http://inner"}}
    own = {"class": "CodeAgent", "executor_type": "class", "executor_class": "a:B", "model": model}
    managed = {"class": "ToolCallingAgent", "model": model}
    for path, description in ((tmp_path, own), (tmp_path / "managed_agents/helper", managed)):
        path.mkdir(parents=True, exist_ok=True)
        (path / "agent.json").write_text(json.dumps(description))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/one.py").write_text("x = 1")
    (tmp_path / "tools/__pycache__").mkdir()
    (tmp_path / "tools/__pycache__/one.pyc").write_bytes(b"x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    return tmp_path


def test_agents_get_the_local_executor_and_the_hosts_model(folder: Path) -> None:
    files = job_files(folder, "task", {"max_steps": 2}, model_on_host=True)
    own = json.loads(files["agent/agent.json"])
    managed = json.loads(files["agent/managed_agents/helper/agent.json"])
    model = {"class": "HostModel", "data": {"model_id": "m"}}
    assert own == {
        "class": "CodeAgent",
        "executor_type": "local",
        "executor_kwargs": {},
        "model": model,
    }
    assert managed == {"class": "ToolCallingAgent", "model": model}
    assert decode(files["task"]) == {"task": "task", "arguments": {"max_steps": 2}}
    assert sorted(files) == [
        "agent/agent.json",
        "agent/managed_agents/helper/agent.json",
        "agent/tools/one.py",
        "program.py",
        "task",
    ]


def test_agents_keep_their_own_models_without_one_on_the_host(folder: Path) -> None:
    files = job_files(folder, "task", {}, model_on_host=False)
    assert json.loads(files["agent/agent.json"])["model"]["data"]["api_base"] == "http://inner"


def test_folder_that_is_not_a_saved_agent_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tools" / "agent.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"tools/agent\.json: not JSON"):
        job_files(folder, "task", {}, model_on_host=False)
    (folder / "tools" / "agent.json").unlink()
    monkeypatch.setattr(saved_agent, "_MOST_FILES", 2)
    with pytest.raises(ConfigurationError, match="more than 2 files or"):
        job_files(folder, "task", {}, model_on_host=False)
    with pytest.raises(EncodeError, match="arguments"):
        job_files(folder, "task", {"stream": object()}, model_on_host=False)

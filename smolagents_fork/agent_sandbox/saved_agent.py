"""Loads a saved agent in the sandbox, gives it its task and writes down its answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ..codec import decode, encode
from ..errors import ConfigurationError
from . import ADDRESS_VARIABLE, ANSWER_FILE, PROGRAM_FILE

__all__ = ["job_files", "main"]

_AGENT_FOLDER = "agent"
_DESCRIPTION = "agent.json"
_TASK_FILE = "task"
_PROGRAM = "from smolagents_fork.agent_sandbox.saved_agent import main\nmain(__file__)\n"
# More than any saved agent has, far below what a folder named by mistake has.
_MOST_FILES = 2_000
_MOST_BYTES = 64 * 1024 * 1024


def job_files(
    folder: Path, task: str, arguments: Mapping[str, Any], *, model_on_host: bool
) -> dict[str, bytes]:
    """Return the files of a job that runs a saved agent; called on the host.

    Every agent in the folder gets the local executor, since the sandbox around it is the boundary.
    With a model on the host they all get that, and what is saved of theirs stays outside.

    Args:
        folder: Folder as ``agent.save()`` has written it.
        model_on_host: whether the agents call the host's model.

    Raises:
        ConfigurationError: the folder is not a saved agent's, or is too large to be one.
        EncodeError: an argument cannot travel.
    """
    if not (folder / _DESCRIPTION).is_file():
        raise ConfigurationError(
            f"folder={str(folder)!r} has no {_DESCRIPTION}: name one that agent.save() has written"
        )
    job = encode({"task": task, "arguments": dict(arguments)}, path="arguments")
    files = {PROGRAM_FILE: _PROGRAM.encode(), _TASK_FILE: job}
    size = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or "__pycache__" in path.parts:
            continue
        name = PurePosixPath(_AGENT_FOLDER, *path.relative_to(folder).parts)
        data = path.read_bytes()
        if path.name == _DESCRIPTION:
            data = _with_settings_of_the_sandbox(path, data, model_on_host)
        files[str(name)] = data
        size += len(data)
        if len(files) > _MOST_FILES or size > _MOST_BYTES:
            raise ConfigurationError(
                f"folder={str(folder)!r} has more than {_MOST_FILES} files or {_MOST_BYTES} bytes, "
                "which is not a saved agent; pass its data to the sandbox with put_file()"
            )
    return files


def _with_settings_of_the_sandbox(path: Path, data: bytes, model_on_host: bool) -> bytes:
    try:
        description = json.loads(data)
    except ValueError as error:
        raise ConfigurationError(f"{path}: not JSON: {error}") from None
    if "executor_type" in description:
        description.pop("executor_class", None)
        description |= {"executor_type": "local", "executor_kwargs": {}}
    if model_on_host:
        model_id = (description.get("model") or {}).get("data", {}).get("model_id")
        description["model"] = {"class": "HostModel", "data": {"model_id": model_id}}
    return json.dumps(description).encode()


def main(program: str) -> None:
    """Run the saved agent of a job; called in the sandbox.

    Args:
        program: Path of the job's program, which has the other files beside it.
    """
    from ..upstream import AGENT_REGISTRY, MODEL_REGISTRY

    folder = Path(program).parent
    job = decode((folder / _TASK_FILE).read_bytes(), path="job")
    if ADDRESS_VARIABLE in os.environ:
        from .inside_model import HostModel

        MODEL_REGISTRY[HostModel.__name__] = HostModel
    description = json.loads((folder / _AGENT_FOLDER / _DESCRIPTION).read_text("utf-8"))
    agent_class = AGENT_REGISTRY.get(description["class"])
    if agent_class is None:
        sys.exit(
            f"the folder has an agent of class {description['class']!r}; "
            f"{', '.join(sorted(AGENT_REGISTRY))} can be loaded"
        )
    agent = agent_class.from_folder(folder / _AGENT_FOLDER)
    answer = agent.run(job["task"], **job["arguments"])
    raw = getattr(answer, "to_raw", None)
    encoded = encode(answer if raw is None else raw(), path="the agent's answer")
    (folder / ANSWER_FILE).write_bytes(encoded)

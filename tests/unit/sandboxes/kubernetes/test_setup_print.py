"""``smolagents-fork setup kubernetes --print``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from smolagents_fork.command_line.main import main
from smolagents_fork.sandboxes.kubernetes.pod_manifest import GATEWAY_COMMAND


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["setup", "kubernetes", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_manifests_and_dockerfile_are_written(capsys):
    code, out, _ = printed(capsys, "--print", "--namespace", "agents", "--packages", "PIL")
    assert code == 0
    documents = list(yaml.safe_load_all(out))
    assert {one["metadata"].get("namespace", one["metadata"]["name"]) for one in documents} == {
        "agents"
    }
    dockerfile = [line[4:] for line in out.splitlines() if line.startswith("#   ")]
    assert dockerfile[0].startswith("FROM python:3.")
    assert any(line.endswith("pip install --no-cache-dir -- pillow") for line in dockerfile)
    # A cluster does not tell an image's command, so the engine has to know it.
    assert dockerfile[-1] == f"CMD {json.dumps(list(GATEWAY_COMMAND))}"


def test_json_has_both(capsys):
    _, out, _ = printed(capsys, "--print", "--json", "--warm-pool", "w", "--image", "r/i:1")
    found = json.loads(out)
    assert {"manifests", "dockerfile", "context"} == set(found)
    assert "SandboxWarmPool" in found["manifests"]
    (copied,) = [line for line in found["dockerfile"].splitlines() if line.startswith("COPY ")]
    assert all((Path(found["context"]) / name).is_file() for name in copied.split()[1:-1])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "changes no cluster: add --print"),
        (("--print", "--warm-pool", "w"), 2, "--warm-pool needs --image"),
        (("--print", "--namespace", "A b"), 1, "namespace='A b'"),
    ],
)
def test_wrong_use(capsys, arguments, code, words):
    found, _, err = printed(capsys, *arguments)
    assert found == code
    assert words in err


def test_print_is_for_clusters(capsys):
    assert main(["setup", "wasm", "--print"]) == 2
    assert "--print is for kubernetes" in capsys.readouterr().err

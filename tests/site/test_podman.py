"""docs/recipes/podman.md on a real Podman, where ``PODMAN_SOCKET`` names its service."""

from __future__ import annotations

import os

import pytest
from page_walk import answer, model_environment, walk

from tests.chat_server import ChatServer
from tools.paths import ROOT

PAGE = ROOT / "docs" / "recipes" / "podman.md"
SOCKET = os.environ.get("PODMAN_SOCKET", "")


@pytest.mark.slow
@pytest.mark.skipif(not SOCKET, reason="PODMAN_SOCKET names no service of Podman's")
def test_agent_runs_in_a_container_of_podmans(tmp_path):
    model = ChatServer(answer("import os\nfinal_answer(os.getuid())"))
    with model_environment(model, DOCKER_HOST=f"unix://{SOCKET}") as env:
        walk(PAGE, tmp_path, env)

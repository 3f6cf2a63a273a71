"""docs/recipes/podman.md on a real Podman, where ``PODMAN_SOCKET`` names its service."""

from __future__ import annotations

import os

import pytest
from page_walk import reader_environment, walk

from tests.chat_server import ChatServer
from tools.paths import ROOT

PAGE = ROOT / "docs" / "recipes" / "podman.md"
SOCKET = os.environ.get("PODMAN_SOCKET", "")


@pytest.mark.slow
@pytest.mark.skipif(not SOCKET, reason="PODMAN_SOCKET names no service of Podman's")
def test_agent_runs_in_a_container_of_podmans(tmp_path):
    with ChatServer(
        "Ask.\n<code>\nimport os\nfinal_answer(os.getuid())\n</code>"
    ).serving() as port:
        env = reader_environment(
            OPENAI_API_KEY="x",
            OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
            DOCKER_HOST=f"unix://{SOCKET}",
        )
        walk(PAGE, tmp_path, env)

"""The service of docs/recipes/service.md: a real server, two users at once, a full pool."""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from background import eventually
from page_walk import model_environment, server_process, write_files

from tests.chat_server import ChatServer
from tests.ports import free_port
from tools.paths import ROOT

PAGE = ROOT / "docs" / "recipes" / "service.md"
#: Each request leaves its mark, and says which marks and files it finds.
CODE = """Look.
<code>
import os, time
found = sorted(os.listdir("."))
open("mark.txt", "w").write("was here")
time.sleep(12 if "slow" in found else 0)
final_answer(found)
</code>"""


@pytest.fixture
def service(engine, tmp_path) -> Iterator[httpx.Client]:
    """Give a client of the service, which has started."""
    write_files(PAGE, tmp_path)
    own = free_port()
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(own)]
    with (
        model_environment(ChatServer(CODE), POOL_SECONDS="6") as env,
        server_process(command, tmp_path, env) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{own}", timeout=200) as client,
    ):
        assert eventually(lambda: has_started(client, server), 400)
        yield client


def has_started(client: httpx.Client, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, "the server has ended: see its log"
    try:
        return client.get("/stats").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.docker
def test_requests_share_nothing_and_a_full_pool_says_so(service):
    def ask(name: str) -> httpx.Response:
        return service.post("/ask", json={"text": "What is there?", "files": {name: "secret"}})

    def answer(name: str) -> str:
        while (reply := ask(name)).status_code == 503:
            time.sleep(0.5)  # a busy machine starts containers slowly, and a client tries again
        return reply.json()["answer"]

    with concurrent.futures.ThreadPoolExecutor(3) as users:
        answers = list(users.map(answer, ["of-alice", "of-bob"]))
        assert answers == ["['of-alice']", "['of-bob']"]
        assert eventually(lambda: pool_rests(service)), "the pool does not come to rest"
        replies = {reply.status_code: reply for reply in users.map(ask, ["slow"] * 3)}
    assert replies.keys() == {200, 503}
    assert "became free in acquire_timeout_seconds=6.0" in replies[503].json()["detail"]


def pool_rests(service: httpx.Client) -> bool:
    stats = service.get("/stats").json()
    return stats["in_use"] == 0 and stats["ready"] > 0

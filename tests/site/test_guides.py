"""The guides: their files and commands, with a double as the model and real executors."""

from __future__ import annotations

import sys
import time
import urllib.request
from contextlib import AbstractContextManager

import pytest
from page_walk import answer, model_environment, server_process, walk, write_files

from tests.chat_server import ChatServer
from tests.ports import free_port
from tools.command import run
from tools.paths import ROOT

GUIDES = ROOT / "docs" / "guides"
PRIMES = "[n for n in range(2, 50) if all(n % d for d in range(2, n))]"
SECONDS = 120


def model_of(*answers: str) -> AbstractContextManager[dict[str, str]]:
    return model_environment(ChatServer(*map(answer, answers)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answers"),
    [
        (
            "streaming.md",
            (
                "primes = [n for n in range(2, 20) if all(n % d for d in range(2, n))]\n"
                "print(primes)",
                "final_answer(sum(primes))",
            ),
        ),
        (
            "sent-to-the-model.md",
            (f"count = len({PRIMES})\nprint(count, 'primes')\ncount", "final_answer(count)"),
        ),
        ("saving.md", ("final_answer(price('desk'))",)),
        ("own-executor.md", (f"final_answer(len({PRIMES}))",)),
    ],
)
def test_blocks_print_what_the_page_shows(tmp_path, name, answers):
    with model_of(*answers) as env:
        walk(GUIDES / name, tmp_path, env)


def test_every_guide_and_recipe_is_tested_and_short():
    tests = [*(ROOT / "tests" / "site").glob("*.py")]
    tests += [ROOT / "tests" / "contract" / "provisioners" / "test_engine_page.py"]
    source = "".join(path.read_text("utf-8") for path in tests)
    pages = [*GUIDES.glob("*.md"), *(GUIDES.parent / "recipes").glob("*.md")]
    assert [page.name for page in pages if page.name not in source] == []
    assert [page.name for page in pages if len(page.read_text("utf-8").split()) > 500] == []


@pytest.mark.slow
def test_workers_of_gunicorn_have_executors_of_their_own(tmp_path):
    write_files(GUIDES / "workers.md", tmp_path)
    port = free_port()
    code = "import os\nfinal_answer(os.getpid())"
    (tmp_path / "service.py").write_text(
        (tmp_path / "service.py")
        .read_text("utf-8")
        .replace(
            'executor_type="process"',
            'executor_type="process", additional_authorized_imports=["os"]',
        )
    )
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "service:app"]
    with model_of(code) as env, server_process(command, tmp_path, env):
        pids = set()
        deadline = time.monotonic() + SECONDS
        while len(pids) < 2 and time.monotonic() < deadline:
            pids.add(asked(f"http://127.0.0.1:{port}/?Who"))
        assert len(pids) == 2
        assert all(pid.isdigit() for pid in pids)


@pytest.mark.slow
def test_workers_of_celery_have_executors_of_their_own(tmp_path):
    write_files(GUIDES / "workers.md", tmp_path)
    (tmp_path / "queue").mkdir()
    (tmp_path / "celeryconfig.py").write_text(
        "broker_url = 'filesystem://'\n"
        "broker_transport_options = dict.fromkeys(\n"
        "    ['data_folder_in', 'data_folder_out', 'control_folder'], 'queue')\n"
        "result_backend = 'file://queue'\n"
    )
    asking = (
        "import tasks\ntasks.app.config_from_object('celeryconfig')\n"
        f"print('answer', tasks.ask.delay('How many?').get(timeout={SECONDS}))"
    )
    command = [sys.executable, "-m", "celery", "-A", "tasks", "--config", "celeryconfig"]
    command += ["worker", "--concurrency", "1", "--without-gossip", "--without-mingle"]
    with model_of(f"final_answer(len({PRIMES}))") as env, server_process(command, tmp_path, env):
        command = [sys.executable, "-c", asking]
        said = run(command, timeout_seconds=SECONDS, cwd=tmp_path, env=env)
    assert said == "answer 15\n"


def asked(address: str) -> str:
    """Return the answer of a server that may be starting."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as reply:
                return str(reply.read().decode())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)

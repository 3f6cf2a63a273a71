"""A tool's secret is not in the sandbox that calls it: environment, files, memory."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from smolagents import Tool

# Concatenated here, so that no file in the sandbox contains the text.
SECRET = "-".join(["hunter2", "correct", "horse", "staple"])
SEARCH = """
import os
def places(backwards):
    # Told backwards: the search must not bring the words in.
    text, found = backwards[::-1], []
    if any(text in name + value for name, value in os.environ.items()):
        found.append('environment')
    files = [f'/proc/{number}/environ' for number in os.listdir('/proc') if number.isdigit()]
    for folder in ('/workspace', '/tmp', '/home', '/root', '/opt', '/etc', '/run', '/var'):
        for parent, _, names in os.walk(folder):
            files += [os.path.join(parent, name) for name in names]
    for path in files:
        try:
            with open(path, 'rb') as file:
                if text.encode() in file.read(50_000_000):
                    found.append(path)
        except OSError:
            pass
    return found
"""


class Database(Tool):
    name = "database"
    description = "Looks something up."
    inputs: ClassVar[dict[str, Any]] = {"key": {"type": "string", "description": "What."}}
    output_type = "string"

    def __init__(self, password: str) -> None:
        super().__init__()
        self.password = password

    def forward(self, key: str) -> str:
        if self.password != SECRET:
            raise PermissionError(f"wrong password {self.password}")
        return key.upper()


@pytest.fixture
def executor(sandbox, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", SECRET)
    sandbox.executor.restart()  # a sandbox that starts while the secret is set
    sandbox.executor.send_tools({"database": Database(SECRET)})
    assert sandbox.executor("database('a')").output == "A"
    return sandbox.executor


def test_no_secret_is_in_files_or_environment(sandbox, executor):
    if sandbox.name == "process":
        assert SECRET.encode() not in Path(f"/proc/{executor.pid}/environ").read_bytes()
        assert list(Path(executor.folder).iterdir()) == []
        return
    executor(SEARCH + "\nwith open('/tmp/seen', 'w') as file:\n    file.write('planted words')")
    assert executor(f"places({'planted words'[::-1]!r})").output == ["/tmp/seen"]
    assert executor(f"places({SECRET[::-1]!r})").output == []


def test_no_secret_is_in_memory(sandbox, executor, request):
    """Memory is read from outside the sandbox, so that the search does not add the secret."""
    executor("kept = 'held-here' + '-on-purpose'")
    texts = ["held-here-on-purpose", SECRET]
    if sandbox.name == "process":
        found = in_memory([executor.pid], texts)
    else:
        engine = request.getfixturevalue("engine")
        top = engine.api.top(executor.container.id)
        pids = [int(process[top["Titles"].index("PID")]) for process in top["Processes"]]
        found = in_memory_as_root(engine, executor.container.image.id, pids, texts)
    # The search finds existing text.
    assert found == ["held-here-on-purpose"]


def in_memory(pids: list[int], texts: list[str]) -> list[str]:
    """Return those of ``texts`` that are in a readable page of the processes."""
    found = set()
    for pid in pids:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
            maps = lines.read()
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps.splitlines():
                area, rights, *_, last = line.split()
                if rights[0] != "r" or last.startswith("[v"):
                    continue
                start, end = (int(edge, 16) for edge in area.split("-"))
                try:
                    memory.seek(start)
                    page = memory.read(end - start)
                except OSError:
                    continue
                found |= {text for text in texts if text.encode() in page}
    return sorted(found)


def in_memory_as_root(engine: Any, image: str, pids: list[int], texts: list[str]) -> list[str]:
    """Do the same from a container that may read every process, unlike the test's user."""
    source = "from __future__ import annotations\n" + inspect.getsource(in_memory)
    program = f"{source}\nimport json\nprint(json.dumps(in_memory({pids}, {texts})))"
    printed = engine.containers.run(
        image,
        ["-c", program],
        entrypoint="python3",
        user="0",
        cap_add=["SYS_PTRACE"],
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        pid_mode="host",
        network_mode="none",
        remove=True,
    )
    found: list[str] = json.loads(printed)
    return found

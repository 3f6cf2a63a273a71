"""Conflicts that docs/rebase prepares: each is met on a made-up release, and resolved as it says.

A release has what upstream's pull requests add, in words of our own. The patches' own tests and the
new feature then work in the fork. One conflict, and with ``WHOLE_CONTRACT=1`` every one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from rebase_harness import LOCKED, Rebase, checkout_copy, next_release
from whole_contract import every

from buildsys.series import load_series
from buildsys.tree import write_tree
from tools.paths import ROOT
from tools.rebase.conflict import REGION
from tools.rebase.rehearsal import transplant
from tools.rebase.replay import Conflict
from tools.series.message import parse_message
from tools.series.needed import tree_of

pytestmark = [pytest.mark.network, pytest.mark.slow]

AGENTS = "smolagents/agents.py"
PAGES = ROOT / "docs" / "rebase"
MADE = b"        self.python_executor = executor or self.create_python_executor()\n"
PARAMETER = b"        max_print_outputs_length: int | None = None,\n        stream_outputs"
SECONDS = {
    PARAMETER: PARAMETER.replace(
        b"        stream", b"        max_execution_time_seconds: int | None = None,\n        stream"
    ),
    MADE: b"        if max_execution_time_seconds is not None:\n"
    b'            self.executor_kwargs.setdefault("timeout_seconds", max_execution_time_seconds)\n'
    + MADE,
}
USE_SECONDS = """
from smolagents import CodeAgent, Model
for kind in ("local", "process"):
    with CodeAgent([], Model(), executor_type=kind, max_execution_time_seconds=7) as agent:
        executor = agent.python_executor
        options = getattr(executor, "options", executor)
        assert options.timeout_seconds == 7, kind
"""
USE_REASON = """
import threading
from smolagents import CodeAgent, Model
class Endless(Model):
    def generate(self, *_, **__):
        from smolagents.models import ChatMessage
        return ChatMessage(role="assistant", content="<code>begin()\\nwhile True: pass</code>")
class Begin:
    pass
with CodeAgent([], Endless(), max_steps=5, verbosity_level=0,
               executor_kwargs={"timeout_seconds": 600, "max_while_iterations": 10**12,
                                "max_operations": 10**12,
                                "additional_functions": {"begin": lambda: begun.set()}}) as agent:
    begun = threading.Event()
    threading.Thread(target=lambda: (begun.wait(100), agent.interrupt("the user left"))).start()
    try:
        agent.run("go")
    except Exception as error:
        assert "the user left" in str(error), error
    else:
        raise AssertionError("not interrupted")
"""
USE_CHECK = """
from smolagents import CodeAgent, Model
from smolagents.tools import Tool
class Local(Tool):
    name, description, inputs, output_type = "local", "Stays.", {}, "string"
    def __init__(self):
        super().__init__()
        self.lock = __import__("threading").Lock()
    def forward(self):
        return "here"
with CodeAgent([Local()], Model(), executor_type="process") as agent:
    pass
"""


@dataclass(frozen=True)
class Prepared:
    """A conflict with its page.

    Args:
        page: in docs/rebase.
        edits: texts of ``agents.py``, each there once, and what replaces them.
        patches: that conflict.
        use: program that uses the new feature in the fork.
    """

    page: str
    edits: dict[bytes, bytes]
    patches: tuple[str, ...]
    use: str


CONFLICTS = (
    Prepared(
        "interrupt-reason.md",
        {
            b"        self.interrupt_switch = False\n": b"        self.interrupt_switch = False\n"
            b"        self.interrupt_reason = None\n",
            b'raise AgentError("Agent interrupted.", self.logger)': b"raise AgentError("
            b'self.interrupt_reason or "Agent interrupted.", self.logger)',
            b"    def interrupt(self):\n": b"    def interrupt(self, reason: str | None = None):\n",
            b"        self.interrupt_switch = True\n": b"        self.interrupt_switch = True\n"
            b"        self.interrupt_reason = reason\n",
        },
        ("interrupt-step.patch",),
        USE_REASON,
    ),
    Prepared("execution-seconds.md", SECONDS, ("executor-class.patch",), USE_SECONDS),
    Prepared(
        "tool-output-length.md",
        SECONDS
        | {
            b"                observation = str(tool_call_result).strip()\n": b"                "
            b"observation = truncate_content(str(tool_call_result).strip(), 50_000)\n",
        },
        ("executor-class.patch",),
        USE_SECONDS,
    ),
    Prepared(
        "remote-tools-check.md",
        {
            MADE: b'        if executor is None and self.executor_type in {"e2b", "docker"}:\n'
            b"            for tool in self.tools.values():\n"
            b"                tool.to_dict()\n" + MADE,
        },
        ("executor-class.patch",),
        USE_CHECK,
    ),
)


def keep_both(conflict: Conflict, path: str, data: bytes) -> bytes:
    """Resolve as the pages say: upstream's new lines, then the hook."""
    while (region := REGION.search(data)) is not None:
        upstream, base, patch = (region[side] for side in ("upstream", "base", "patch"))
        if patch.startswith(base):
            kept = upstream + patch.removeprefix(base)
        else:
            assert upstream.endswith(base), conflict
            kept = upstream.removesuffix(base) + patch
        data = data[: region.start()] + kept + data[region.end() :]
    return data


def run_python(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "prepared", every(4, CONFLICTS), ids=lambda one: one.page.removesuffix(".md")
)
def test_prepared_conflict_is_resolved_as_its_page_says(prepared, release, links, tmp_path):
    coming = dict(release)
    for old, new in prepared.edits.items():
        assert coming[AGENTS].count(old) == 1, old
        coming[AGENTS] = coming[AGENTS].replace(old, new)
    version = next_release(links, coming)
    rebase = Rebase(checkout_copy(tmp_path / "project"), links)
    with mock.patch.dict(os.environ, rebase.environment()):
        conflicts = transplant(rebase.project, version, keep_both)
    assert tuple(conflicts) == prepared.patches
    page = (PAGES / prepared.page).read_text("utf-8")
    for patch in prepared.patches:
        assert f"`{patch}`" in page
    fork = tmp_path / "fork"
    fork.mkdir()
    series = load_series(rebase.project.patches)
    write_tree(tree_of(coming, series, LOCKED), fork)
    run_python(fork, "-c", prepared.use)
    tests = [
        test
        for patch in series
        if Path(patch.name).name in prepared.patches
        for test in parse_message(patch.header).trailers["Test"]
    ]
    assert tests
    run_python(fork, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_every_page_is_listed():
    listed = (ROOT / "docs" / "rebase.md").read_text("utf-8")
    names = {path.name for path in PAGES.iterdir()}
    assert set(re.findall(r"\(rebase/([\w-]+\.md)\)", listed)) == names
    assert {one.page for one in CONFLICTS} | {"entry-points.md"} == names

"""A host that forks, as gunicorn with preload and Celery do: each process has its own sandboxes."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forking_host import Server, answer, fork
from smolagents import LocalPythonExecutor

import smolagents_fork
from smolagents_fork.system.forks import ForkSafeLock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")
HOST = str(Path(__file__).with_name("forking_host.py"))


def host_report(kind: str, **environment: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, HOST, kind],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def check_refusals(name: str, report: dict[str, Any], children: list[dict[str, str]]) -> None:
    host, pids = report["pid"], set()
    for answers in children:
        for action, text in answers.items():
            before, _, rest = text.partition(f", forked from process {host}, ")
            assert before.startswith(f"{name}: {action} in process "), text
            assert rest == (
                f"which created it and keeps its sandboxes; create another {name} in this process, "
                "after the fork"
            )
            pids.add(before.rpartition(" ")[2])
    assert len(pids) == 8


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> dict[str, str]:
    """Have what an executor needs; give its environment."""
    if request.getfixturevalue("kind").startswith("ray"):
        cluster = request.getfixturevalue("ray_cluster")
        return {**cluster.environment, "RAY_ADDRESS": cluster.address}
    return {}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ProcessExecutor", marks=pytest.mark.slow),
        pytest.param("DockerExecutor", marks=pytest.mark.docker),
        pytest.param("WasmExecutor", marks=pytest.mark.wasm),
        pytest.param(
            "ray-process", marks=(pytest.mark.slow, pytest.mark.ray, pytest.mark.limit(1800))
        ),
    ],
)
def test_forked_children_are_refused_and_leave_the_sandbox_alone(
    kind: str, machine: dict[str, str]
):
    report = host_report(kind, **machine)
    assert report["server"] == [report["pid"]]
    assert report["kept"] == 1
    assert report["exit code"] == 0
    own = [answers.pop("own") for answers in report["children"] if "own" in answers]
    assert own == [str(2 * number) for number in range(len(own))]
    assert own
    for answers in report["children"]:
        assert answers.pop("alive") == "False"
        assert {answers.pop(one) for one in ("interrupt", "cleanup", "delete")} == {"None"}
    name = "ProcessExecutor" if kind == "ray-process" else kind
    check_refusals(name, report, report["children"])


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("DockerPool", marks=pytest.mark.docker),
        pytest.param("WasmPool", marks=pytest.mark.wasm),
    ],
)
def test_forked_children_are_refused_by_a_pool_and_leave_it_alone(
    kind: str, machine: dict[str, str]
):
    report = host_report(kind, **machine)
    assert report["kept"] == 2
    check_refusals(kind, report, report["children"])


def in_fork(action: Callable[[], Any]) -> str:
    answered: str = fork(lambda: answer(action), 0)()
    return answered


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_local_executor_is_copied_with_variables_tools_and_without_files():
    executor = LocalPythonExecutor([], files={"given.txt": b"given"})
    server = Server()
    server.answer.set()
    executor.send_tools({"server": server})
    executor("kept = 1\nwith open('made.txt', 'w') as file:\n    file.write('secret')")

    def use() -> Any:
        executor.put_file(b"child", "child.txt")
        files = [entry.path for entry in executor.list_files()]
        result = executor("kept += 1\nkept, server()").output
        executor.cleanup()
        return result == (2, os.getpid()), files

    assert in_fork(use) == "(True, ['child.txt', 'given.txt'])"
    assert executor("kept, server()").output == (1, os.getpid())
    assert [entry.path for entry in executor.list_files()] == ["given.txt", "made.txt"]
    executor.cleanup()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_local_executor_that_ran_in_another_thread_is_refused_in_a_forked_child():
    executor, server = LocalPythonExecutor([]), Server()
    executor.send_tools({"server": server})
    call = threading.Thread(target=executor, args=("server()",))
    call.start()
    assert server.called.wait(60)
    try:
        for action in (
            lambda: executor("1 + 1"),
            lambda: executor.send_variables({"a": 1}),
            lambda: executor.send_tools({}),
        ):
            assert in_fork(action) == (
                "Another thread was running a program in this executor when the process was "
                "forked, and its copy here has half of that run; create another executor in this "
                "process, after the fork"
            )
    finally:
        server.answer.set()
        call.join()
    assert executor("1 + 1").output == 2


def test_locks_of_modules_are_free_in_a_forked_child():
    lock = ForkSafeLock()
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            done.wait(60)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert taken.wait(60)
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # ends a child that waits for the lock
        with lock, lock:
            os._exit(7)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    finally:
        done.set()


def test_every_lock_of_a_module_is_fork_safe():
    package = Path(smolagents_fork.__file__).parent
    found = [
        f"{path.relative_to(package)}: {ast.unparse(statement)}"
        for path in sorted(package.rglob("*.py"))
        for statement in ast.parse(path.read_text("utf-8")).body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for node in ast.walk(statement.value or statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Lock", "RLock")
    ]
    assert found == []

"""Program of test_forked_processes: a host that makes an executor or a pool, and forks.

Not in the tests' own process, which has threads of other tests. Its argument names what it makes.
The answers of all processes go to standard output as JSON.
"""

from __future__ import annotations

import atexit
import gc
import json
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from smolagents import Tool

import smolagents_fork
from smolagents_fork.errors import ForkError

CHILDREN = 8


class Server(Tool):  # type: ignore[misc]  # upstream ships no types
    """Tool whose answer tells which process serves it."""

    name, description, inputs, output_type = "server", "Names its process.", {}, "integer"

    def __init__(self) -> None:
        super().__init__()
        self.called, self.answer = threading.Event(), threading.Event()

    def forward(self) -> int:
        """Answer when the test lets it."""
        self.called.set()
        self.answer.wait(120)
        return os.getpid()


def make(kind: str) -> Any:
    if kind == "ray-process":
        return smolagents_fork.ProcessExecutor(
            engine=smolagents_fork.RayEngine(sandbox="process", connect_timeout_seconds=120)
        )
    return getattr(smolagents_fork, kind)()


def answer(action: Callable[[], Any]) -> str:
    try:
        return str(action())
    except ForkError as error:
        return str(error)


def answers_of(executor: Any) -> dict[str, str]:
    return {
        "call": answer(lambda: executor("kept").output),
        "send_tools": answer(lambda: executor.send_tools({})),
        "send_variables": answer(lambda: executor.send_variables({"kept": 2})),
        "variables": answer(executor.variables),
        "restart": answer(executor.restart),
        "put_file": answer(lambda: executor.put_file(b"x", "file")),
        "alive": answer(executor.is_alive),
        "interrupt": answer(executor.interrupt),
        "cleanup": answer(executor.cleanup),
        "delete": answer(executor.delete),
    }


def fork(action: Callable[[], Any], number: int) -> Any:
    """Return a function that waits for a forked child and returns what ``action`` gave in it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writing, json.dumps(action()).encode())
            code = 0
        finally:
            gc.collect()
            if number % 2:
                atexit._run_exitfuncs()  # as a child does that ends like any other program
            os._exit(code)
    os.close(writing)

    def wait() -> Any:
        with os.fdopen(reading) as file:
            text = file.read()
        assert os.waitpid(child, 0)[1] == 0, text
        return json.loads(text)

    return wait


def use_executor(kind: str) -> dict[str, Any]:
    executor, server = make(kind), Server()
    executor.send_tools({"server": server})
    executor.send_variables({"kept": 1})

    def in_child(number: int) -> Any:
        given = answers_of(executor)
        globals().pop("executor", None)
        if number < (CHILDREN if kind == "ProcessExecutor" else 1):
            with make(kind) as own:
                own.send_variables({"kept": number})
                given["own"] = answer(lambda: own("kept * 2").output)
        return given

    waits: list[Any] = []
    results: list[Any] = []
    # A call in another thread has the locks, and its tool is under way.
    call = threading.Thread(target=lambda: results.append(executor("server()").output))
    call.start()
    assert server.called.wait(120)
    for number in range(CHILDREN):
        forker = threading.Thread(
            target=lambda number=number: waits.append(fork(lambda: in_child(number), number))
        )
        forker.start()
        forker.join()
    children = [wait() for wait in waits]
    process = multiprocessing.get_context("fork").Process(target=gc.collect)
    process.start()
    process.join(120)
    server.answer.set()
    call.join()
    report = {
        "pid": os.getpid(),
        "children": children,
        "server": results,
        "kept": executor("kept").output,
        "exit code": process.exitcode,
    }
    executor.cleanup()
    return report


def use_pool(kind: str) -> dict[str, Any]:
    pool = getattr(smolagents_fork, kind)(min_size=1)
    assert pool.wait_until_ready(1, 300)

    def in_child() -> Any:
        given = {
            "acquire": answer(lambda: pool.acquire(timeout=60)),
            "stats": answer(pool.stats),
            "wait_until_ready": answer(pool.wait_until_ready),
        }
        pool.close()
        return given

    with pool._changed:  # as a thread of the pool may have it
        waits = [fork(in_child, number) for number in range(CHILDREN)]
    children = [wait() for wait in waits]
    executor = {"DockerPool": "DockerExecutor", "WasmPool": "WasmExecutor"}[kind]
    with getattr(smolagents_fork, executor)(pool=pool) as own:
        report = {"pid": os.getpid(), "children": children, "kept": own("1 + 1").output}
    pool.close()
    return report


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    (kind,) = sys.argv[1:]
    print(json.dumps((use_pool if kind.endswith("Pool") else use_executor)(kind)))

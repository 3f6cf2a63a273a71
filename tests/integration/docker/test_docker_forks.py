"""A host process that forks: the container stays its own, and the child gets an answer."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Forking is what this is about: not in the tests' own process, which has threads of other tests.
PROGRAM = """
import atexit, gc, json, multiprocessing, os, signal, warnings
warnings.simplefilter("ignore")
from smolagents_fork.errors import ExecutorError
from smolagents_fork.executors.docker import DockerExecutor

def answer(function):
    try:
        return str(function())
    except ExecutorError as error:
        return f"{type(error).__name__}: {error}"

def forked(function):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(function()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(said)

def in_child():
    # A call of the parent's may run: nothing may be sent beside it.
    # A pool's worker that keeps the handler can miss the signal that ends it.
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    sent = []
    executor._session.interrupt = lambda: sent.append("interrupt")
    said = {
        "call": answer(lambda: executor("2 + 2").output),
        "send_variables": answer(lambda: executor.send_variables({"kept": 2})),
        "restart": answer(executor.restart),
        "put_file": answer(lambda: executor.put_file(b"x", "file")),
        "stats": answer(executor.stats),
        "is_alive": answer(executor.is_alive),
        "interrupt": answer(executor.interrupt),
        "cleanup": answer(executor.cleanup),
        "delete": answer(executor.delete),
    }
    said["sent"] = sent
    globals().pop("executor")
    gc.collect()
    with DockerExecutor() as own:
        said["own"] = answer(lambda: own("6 * 7").output)
    # As a child does that ends like any other program.
    atexit._run_exitfuncs()
    return said

executor = DockerExecutor()
executor("kept = 1")
name = executor.container.name
child = forked(in_child)
context = multiprocessing.get_context("fork")
process = context.Process(target=gc.collect)
process.start()
process.join(240)
with context.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
print(json.dumps({
    "pid": os.getpid(),
    "child": child,
    "exit code": process.exitcode,
    "same container": executor.container.name == name,
    "kept": executor("kept").output,
    "files": executor("import os; os.listdir('.')").output,
    "alive": executor.is_alive(),
}))
executor.delete()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_forked_child_leaves_the_container_of_its_parent_alone(image):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=400
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    child = told.pop("child")
    parent = told.pop("pid")
    assert told == {
        "exit code": 0,
        "same container": True,
        "kept": 1,
        "files": [],
        "alive": True,
    }
    for action in ("call", "send_variables", "restart", "put_file", "stats"):
        assert child[action].startswith(f"ExecutorError: DockerExecutor: {action} in process ")
        assert (
            f"forked from the one that made it ({parent}) and keeps its sandboxes; make another "
            "DockerExecutor in this process, after the fork"
        ) in child[action]
    assert child["is_alive"] == "False"
    assert child["interrupt"] == child["cleanup"] == child["delete"] == "None"
    assert child["sent"] == []
    assert child["own"] == "42"

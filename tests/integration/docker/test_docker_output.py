"""Output without end, and output that is none: bounded memory, a marker, a prompt return."""

from __future__ import annotations

import contextlib
import time
import tracemalloc

import pytest
from smolagents.utils import AgentError

LIMIT = 100_000


@pytest.fixture(scope="module")
def bounded(image):
    from smolagents_fork.executors.docker import DockerExecutor

    with DockerExecutor(timeout_seconds=60, max_output_bytes=LIMIT) as executor:
        yield executor


def test_hundred_megabytes_in_one_call(bounded):
    tracemalloc.start()
    try:
        result = bounded("for _ in range(100): print('x' * 1_000_000)\n'end'")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.output == "end"
    assert len(result.logs) < LIMIT + 200
    assert "[output cut: " in result.logs
    assert f"max_output_bytes={LIMIT}]" in result.logs
    assert peak < 20_000_000


def test_hundred_megabytes_past_the_kernels_own_bound(bounded):
    # The program undoes the kernel's bound; the host has one of its own.
    code = (
        "import sys\n"
        "from ipykernel.iostream import OutStream\n"
        "for _ in range(100): OutStream.write(sys.stdout, 'y' * 1_000_000)\n"
        "'end'"
    )
    tracemalloc.start()
    try:
        result = bounded(code)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.output == "end"
    assert len(result.logs) < LIMIT + 200
    assert "[output cut: " in result.logs
    assert peak < 450_000_000  # one message may be as large as a value may


def test_message_over_the_limit_is_read_past(make):
    executor = make(max_value_bytes=1_000_000, max_output_bytes=1000)
    code = (
        "import sys\n"
        "from ipykernel.iostream import OutStream\n"
        "OutStream.write(sys.stdout, 'z' * 40_000_000)\n"
        "'end'"
    )
    tracemalloc.start()
    try:
        result = executor(code)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.output == "end"
    assert "[output cut: " in result.logs
    assert peak < 10_000_000


def test_million_small_prints(bounded):
    result = bounded("for n in range(1_000_000): print(n)\n'end'")
    assert result.output == "end"
    assert result.logs.startswith("0\n1\n2\n")
    assert "[output cut: " in result.logs


def test_flood_that_never_ends_is_stopped(make):
    from smolagents_fork.errors import SandboxTimeoutError

    executor = make(timeout_seconds=2, max_output_bytes=1000)
    with pytest.raises(SandboxTimeoutError) as caught:
        executor("while True: print('y' * 1000)")
    assert "[output cut: " in str(caught.value)
    assert executor("1").output == 1


def test_binary_rubbish_from_a_program(bounded):
    result = bounded("import os\nos.system(\"printf '\\\\377\\\\000\\\\001rubbish\\\\n'\")")
    assert "rubbish" in result.logs


def test_no_newline_and_surrogates(bounded):
    assert bounded("print('no newline', end='')").logs == "no newline"
    assert "a" in bounded("print('a\\ud800b')").logs


def test_deep_recursion(bounded):
    started = time.monotonic()
    with pytest.raises(AgentError, match="RecursionError"):
        bounded("def f(n): return f(n + 1)\nf(0)")
    assert time.monotonic() - started < 20


def test_result_whose_repr_raises(bounded):
    code = "class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()"
    assert bounded(code).output == "<Bad object; its repr raised ValueError>"


def test_result_whose_repr_is_enormous(bounded):
    code = "class Big:\n    def __repr__(self): return 'b' * 50_000_000\nBig()"
    output = bounded(code).output
    assert len(output) < LIMIT + 100
    assert output.endswith("characters cut]")


def test_exception_with_an_enormous_message(bounded):
    tracemalloc.start()
    try:
        with pytest.raises(AgentError) as caught:
            bounded("print('before')\nraise ValueError('m' * 100_000_000)")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "ValueError" in str(caught.value)
    assert "characters cut]" in str(caught.value)
    assert "before" in str(caught.value)
    assert len(str(caught.value)) < 300_000
    assert peak < 20_000_000


def test_exception_whose_str_raises(bounded):
    code = "class E(Exception):\n    def __str__(self): raise TypeError('no str')\nraise E()"
    with pytest.raises(AgentError):
        bounded(code)
    assert bounded("1").output == 1


def test_program_that_breaks_the_kernels_side_harms_itself_only(make):
    executor = make(timeout_seconds=2, interrupt_grace_seconds=0.2)
    executor.send_variables({"given": 1})
    code = (
        "import builtins, sys\n"
        "builtins.__smolagents_fork__.__dict__.clear()\n"
        "sys.stdout = sys.stderr = None\n"
        "del builtins.__smolagents_fork__\n"
    )
    with contextlib.suppress(Exception):
        executor(code)
    with contextlib.suppress(Exception):
        executor("1 + 1")
    executor.restart()
    assert executor("given + 1").output == 2


@pytest.mark.parametrize(
    "data",
    ["b'not the codec'", "b''", "b'[' * 100000", 'b\'{"$":"nothing"}\'', "bytes(1000)"],
)
def test_forged_values_are_a_note_and_never_a_crash(make, bounded, data):
    code = f"__smolagents_fork__.publish({{'kind': 'value'}}, [{data}])"
    result = bounded(code)
    assert result.output is None
    assert "could not be decoded" in result.logs or result.logs == ""


def test_forged_messages_are_ignored(bounded):
    code = (
        "from IPython import get_ipython\n"
        "hook = get_ipython().displayhook\n"
        "for kind, content in [\n"
        "    ('status', {'execution_state': 7}), ('stream', {'text': 5}), ('stream', {}),\n"
        "    ('display_data', {'data': 3}), ('comm_msg', {'data': []}), ('error', {}),\n"
        "    ('comm_msg', {'comm_id': __smolagents_fork__.comm_id, 'data': {'kind': []}}),\n"
        "    ('display_data', {'data': {'image/png': 'bm90IGEgcG5n'}}),\n"
        "]:\n"
        "    hook.session.send(hook.pub_socket, kind, content, parent=hook.parent_header)\n"
        "'end'"
    )
    with contextlib.suppress(AgentError):  # the forged error is the program's own
        assert bounded(code).output == "end"
    assert bounded("1").output == 1

"""Code in a hosted sandbox: state, output, values, errors, final answers, packages, deadlines."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hosted_services import PROBE, Hosted
from smolagents import FinalAnswerTool, tool
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ExecutorClosedError,
    ExecutorError,
    SandboxDiedError,
    SandboxTimeoutError,
)


@tool
def doubled(number: int) -> int:
    """Double a number.

    Args:
        number: any number
    """
    return 2 * number


def test_state_is_kept_between_calls(executor: Any):
    executor("total = 40")
    outcome = executor("total + 2")
    assert (outcome.output, outcome.logs, outcome.is_final_answer) == (42, "", False)


def test_logs_are_what_was_printed_on_both_streams(executor: Any):
    outcome = executor(
        "import sys, time\n"
        "print('first', end='', flush=True)\ntime.sleep(0.3)\n"
        "print(' line', flush=True)\ntime.sleep(0.3)\n"
        "print('careful', file=sys.stderr, flush=True)"
    )
    assert outcome.logs == "first line\ncareful\n"
    assert outcome.output is None


def test_output_of_megabytes_arrives(hosted: Hosted):
    executor = hosted.make(max_print_outputs_length=20_000_000)
    assert len(executor("print('x' * 5_000_000)\nprint('y' * 5_000_000)").logs) == 10_000_002


@pytest.mark.parametrize("statement", ["image", "display(image)"])
def test_image_is_returned(executor: Any, statement: str):
    outcome = executor(
        f"import PIL.Image\nimage = PIL.Image.new('RGB', (3, 2), 'red')\n{statement}"
    )
    assert outcome.output.size == (3, 2)
    assert outcome.output.getpixel((2, 1)) == (255, 0, 0)


def test_image_is_shown_on_a_machine_with_a_viewer(hosted: Hosted):
    executor = hosted.make()
    executor(
        "import os, sys\nwith open('xdg-open', 'w') as file: file.write('#!/bin/sh\\ntouch seen')\n"
        "os.chmod('xdg-open', 0o755)\n"
        "os.environ['PATH'] = os.getcwd() + os.pathsep + os.environ['PATH']\n"
        "import PIL.Image\nPIL.Image.new('RGB', (3, 2)).show()"
    )
    assert [display.value.size for display in executor.displays] == [(3, 2)]
    assert executor("os.path.exists('seen'), sys.argv[1:]").output == (False, [])


def test_error_has_no_colours_and_output_before_it_is_kept(executor: Any):
    with pytest.raises(AgentError) as caught:
        executor("print('before')\n1 / 0")
    text = str(caught.value)
    assert executor.state["_print_outputs"] == "before\n"
    assert text.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in text


def test_final_answer_is_the_value(executor: Any):
    tools = {"final_answer": FinalAnswerTool(), "doubled": doubled}
    for number in (1, 2):  # an agent sends its tools at each run
        executor.send_tools(tools)
        executor.send_variables({"pair": (number, {1, 2})})
        outcome = executor("print('so')\nfinal_answer([pair, doubled(4)])\nprint('not reached')")
        assert outcome.output == [(number, {1, 2}), 8]
        assert (outcome.logs, outcome.is_final_answer) == ("so\n", True)


def test_package_is_installed(executor: Any):
    assert executor.install_packages([f"{PROBE}>=0.5", "json"]) == [f"{PROBE}>=0.5", "json"]
    assert executor(f"import {PROBE}\n{PROBE}.ANSWER").output == 42


def test_missing_package_is_an_error_and_ends_the_sandbox(hosted: Hosted):
    with pytest.raises(ExecutorError, match="pip install -- nowhere_found failed:\n") as caught:
        hosted.make(imports=("nowhere_found",))
    assert "No matching distribution found for nowhere_found" in str(caught.value)


def test_deadline_interrupts_code_and_keeps_output(hosted: Hosted):
    executor = hosted.make(timeout_seconds=1.0)
    executor("kept = 1")
    with pytest.raises(SandboxTimeoutError) as caught:
        executor("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)")
    assert str(caught.value) == (
        "code ran past timeout_seconds=1.0; it was interrupted and its state kept"
    )
    assert executor.state["_print_outputs"] == "begun\n"
    assert executor("kept").output == 1


def test_code_that_ignores_its_interruption_is_ended_with_the_sandbox(hosted: Hosted):
    executor = hosted.make(timeout_seconds=1.0, interrupt_grace_seconds=1.0)
    (first,) = set(hosted.service.sandboxes) - hosted.service.shared
    with pytest.raises(SandboxTimeoutError, match="was killed; its state is lost"):
        executor(
            "import time\nwhile True:\n"
            "    try:\n        time.sleep(0.01)\n    except KeyboardInterrupt:\n        pass"
        )
    assert executor("1").output == 1
    assert first not in hosted.service.sandboxes


def test_end_of_the_kernel_is_an_error(hosted: Hosted):
    executor = hosted.make()
    executor("kept = 1")
    with pytest.raises(SandboxDiedError) as caught:
        executor("print('last', flush=True)\nimport os, time\ntime.sleep(0.3)\nos._exit(3)")
    assert re.match("the kernel in sandbox .* ended: .*; its state is lost, ", str(caught.value))
    assert executor.state["_print_outputs"] == "last\n"
    assert str(caught.value).startswith(f"{caught.value.event}; its state is lost, ")
    assert executor("'kept' in globals()").output is False


def test_cleanup_ends_the_sandbox(hosted: Hosted):
    executor = hosted.make()
    assert set(hosted.service.sandboxes) - hosted.service.shared
    executor.cleanup()
    assert not set(hosted.service.sandboxes) - hosted.service.shared
    executor.cleanup()
    executor.delete()
    with pytest.raises(ExecutorClosedError, match=r"call after cleanup\(\)"):
        executor("1")


def test_variables_are_read(executor: Any):
    executor("import math\nmade = {'a': [1, (2, b'x')]}\n_private = 1\ndef function(): pass")
    found = executor.variables()
    assert found["made"] == {"a": [1, (2, b"x")]}
    assert {"math", "function"} <= found.left_out.keys()
    assert not [name for name in found | found.left_out if name.startswith("_")]


def test_executor_needs_no_logger(hosted: Hosted):
    with hosted.repaired([PROBE], None, **hosted.options) as executor:
        executor.send_tools({"doubled": doubled})
        assert executor("doubled(4)").output == 8

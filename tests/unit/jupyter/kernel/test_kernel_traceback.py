"""Tracebacks as the kernel shows them: the program's frames, and causes that have some."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import traceback

import pytest

from smolagents_fork.jupyter.kernel import kernel_traceback


def raised(function, *arguments) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - of any class
        function(*arguments)
    return caught.value


def functions(entry) -> list[str]:
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(entry)]


@pytest.mark.parametrize(
    ("filename", "library"),
    [
        (json.__file__, True),
        (os.path.join(sysconfig.get_path("purelib"), "requests", "api.py"), True),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", True),
        ("/home/kernel/.packages/lib/python3.11/site-packages/made.py", True),
        ("<frozen importlib._bootstrap>", True),
        ("<smolagents_fork codec>", True),
        ("pandas/_libs/index.pyx", True),
        ("/tmp/ipykernel_7/1234.py", False),
        ("<string>", False),
        ("/home/kernel/work/written.py", False),
    ],
)
def test_files_of_libraries(filename, library):
    assert kernel_traceback.of_library(filename) is library


def test_traceback_within_a_library_is_trimmed_to_nothing():
    error = raised(json.loads, "{")
    while functions(error.__traceback__)[0] != "loads":
        error = error.with_traceback(error.__traceback__.tb_next)
    assert kernel_traceback.trim(error.__traceback__) is None
    assert kernel_traceback.trim(None) is None


def test_frames_of_a_deep_recursion_are_limited():
    frames = [f"  Cell In[1], line {number}\n    f()\n" for number in range(1000)]
    lines = ["Traceback:\n", *frames, "RecursionError: deep\n"]
    assert kernel_traceback.limit_frames(lines) == [
        "Traceback:\n",
        frames[0],
        "  ... 990 more ...\n",
        *frames[-9:],
        "RecursionError: deep\n",
    ]
    few = ["Traceback:\n", *frames[:10], "ValueError: bad\n"]
    assert kernel_traceback.limit_frames([*few, *few]) == [*few, *few]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_groups_are_trimmed_with_their_members():
    def fail():
        error = raised(json.loads, "{")
        raise ExceptionGroup("both", [error, ValueError("plain")])  # noqa: F821 - of Python 3.11

    lines = kernel_traceback.group_lines(raised(fail))
    text = "\n".join(lines)
    assert "ExceptionGroup: both (2 sub-exceptions)" in text
    assert "JSONDecodeError" in text
    assert "ValueError: plain" in text
    assert "decoder.py" not in text

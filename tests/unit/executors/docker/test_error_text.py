"""Error texts of a failed build and a missing module: the cause first, then the remedy."""

from __future__ import annotations

import pytest

from smolagents_fork.executors.docker.error_text import failure_words
from smolagents_fork.jupyter.protocol import KernelError
from smolagents_fork.sandboxes.docker.images.build_errors import failure_message

COMMAND = "if [ -s /build/ca.pem ]; then export PIP_CERT=/build/ca.pem; fi     && " + "pip " * 99
FAILURE = f"The command '/bin/sh -c {COMMAND}' returned a non-zero code: 1"
BEGUN = [
    "Step 7/13 : COPY . /build",
    " ---> c3d485f7ad33",
    f"Step 8/13 : RUN {COMMAND}",
    " ---> Running in b1b99b8e83e2",
]
NOT_FOUND = "ERROR: No matching distribution found for scikitlearn"


def told(*said: str) -> list[str]:
    lines = [*BEGUN, *said, "Removing intermediate container b1b99b8e83e2"]
    return failure_message("fork:1", {}, FAILURE, lines).splitlines()


def test_the_words_of_the_step_come_before_its_command():
    lines = told("\x1b[91mcollecting\x1b[0m", "\x1b[91m\x1b[0m", NOT_FOUND)
    assert lines[0] == (
        "image fork:1 could not be built; pip finds no 'scikitlearn': see spelling and version, "
        "and give the distribution's name where the import has another; the step that failed said:"
    )
    assert lines[1:3] == ["collecting", NOT_FOUND]
    assert lines[3].startswith("(exit code 1 of: if [ -s /build/ca.pem ]; then")
    assert len(lines[3]) < 250
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("SSL: CERTIFICATE_VERIFY_FAILED", "pass ca_bundle="),
        ("WARNING: Retrying after connection broken by 'X'\n" + NOT_FOUND, "reach its index"),
    ],
)
def test_what_may_help(said, hint):
    assert hint in told(*said.splitlines())[0]


def test_step_that_said_nothing_and_one_that_said_much():
    assert told()[1] == "(nothing)"
    lines = [f"line {number}" for number in range(40)]  # so many are kept: the beginning is gone
    assert failure_message("fork:1", {}, FAILURE, lines).splitlines()[1:-1] == lines


def test_what_is_no_step_that_ran_is_told_in_the_engines_words():
    lines = ["Step 1/2 : FROM scratch", " ---> ", "Step 2/2 : COPY nothing /there"]
    words = failure_message("fork:1", {}, "COPY failed: no such file", lines)
    assert words.splitlines() == [
        "image fork:1 could not be built: COPY failed: no such file",
        "Step 1/2 : FROM scratch",
        "Step 2/2 : COPY nothing /there",
    ]


def words_for(module: str, *, name: str = "ModuleNotFoundError", **how) -> str:
    error = KernelError(name, f"No module named '{module}'", "Traceback: it is missing")
    words = failure_words(error, **{"interrupted": False, "present": (), "of_pool": False, **how})
    assert words.startswith("Traceback: it is missing")
    return words.removeprefix("Traceback: it is missing")


def test_module_that_is_not_in_the_image():
    assert words_for("sklearn") == (
        "\n'sklearn' is not installed in the container. Whoever makes the executor can have it "
        "installed: additional_authorized_imports= takes import names, requirements= pip's own"
    )
    assert "additional_imports= of the pool takes" in words_for("sklearn", of_pool=True)
    assert "such as 'google.cloud.storage'" in words_for("google")
    assert words_for("google.cloud.storage").startswith("\n'google.cloud.storage' is not installed")


@pytest.mark.parametrize("module", ["json.tool2", "winreg", "yaml.part", "smolagents", "x" * 101])
def test_module_that_no_installation_brings(module):
    assert words_for(module) == ""
    assert words_for("sklearn", present=["sklearn"]) == ""
    assert words_for("sklearn", name="ImportError") == ""

"""Messages of failed builds: the cause first, then advice."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes.docker.images.build_errors import engine_failure

COMMAND = "if [ -s /build/ca.pem ]; then export PIP_CERT=/build/ca.pem; fi     && " + "pip " * 99
FAILURE = f"The command '/bin/sh -c {COMMAND}' returned a non-zero code: 1"
BEGUN = [
    "Step 7/13 : COPY . /build",
    " ---> c3d485f7ad33",
    f"Step 8/13 : RUN {COMMAND}",
    " ---> Running in b1b99b8e83e2",
]
NOT_FOUND = "ERROR: No matching distribution found for scikitlearn"


def message_lines(*output: str) -> list[str]:
    lines = [*BEGUN, *output, "Removing intermediate container b1b99b8e83e2"]
    return engine_failure("fork:1", FAILURE, lines).splitlines()


def test_output_of_the_step_comes_before_its_command():
    lines = message_lines("\x1b[91mcollecting\x1b[0m", "\x1b[91m\x1b[0m", NOT_FOUND)
    assert lines[0] == (
        "image fork:1 could not be built; pip finds no 'scikitlearn': check spelling and "
        "version, and pass the name of the distribution where it differs from the import name; "
        "output of the step that failed:"
    )
    assert lines[1:3] == ["collecting", NOT_FOUND]
    assert lines[3].startswith("(exit code 1 of: if [ -s /build/ca.pem ]; then")
    assert len(lines[3]) < 250
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ("SSL: CERTIFICATE_VERIFY_FAILED", "pass ca_bundle="),
        ("WARNING: Retrying after connection broken by 'X'\n" + NOT_FOUND, "reach its index"),
    ],
)
def test_message_has_advice(output, hint):
    assert hint in message_lines(*output.splitlines())[0]


def test_step_without_output_and_one_with_much():
    assert message_lines()[1] == "(none)"
    lines = [f"line {number}" for number in range(40)]  # the first lines of the step are cut off
    assert engine_failure("fork:1", FAILURE, lines).splitlines()[1:-1] == lines


def test_failure_outside_of_a_step_has_the_engines_message():
    lines = ["Step 1/2 : FROM scratch", " ---> ", "Step 2/2 : COPY nothing /there"]
    message = engine_failure("fork:1", "COPY failed: no such file", lines)
    assert message.splitlines() == [
        "image fork:1 could not be built: COPY failed: no such file",
        "Step 1/2 : FROM scratch",
        "Step 2/2 : COPY nothing /there",
    ]

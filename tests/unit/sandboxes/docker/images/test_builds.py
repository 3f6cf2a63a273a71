"""Settings of a build from the environment, of the lease from its figure; errors of builds."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes import pip_settings
from smolagents_fork.sandboxes.docker.create_arguments import lease_arguments
from smolagents_fork.sandboxes.docker.images import image_plans, installation
from smolagents_fork.sandboxes.docker.images.build_errors import engine_failure

CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in (*CA_VARIABLES, *INDEX_VARIABLES):
        monkeypatch.delenv(name, raising=False)


def test_certificates_are_those_given_else_those_the_environment_names(monkeypatch, tmp_path):
    assert pip_settings.ca_bytes(None) == b""
    for name in reversed(CA_VARIABLES):  # an earlier one has precedence
        (tmp_path / name).write_bytes(name.encode())
        monkeypatch.setenv(name, str(tmp_path / name))
        assert pip_settings.ca_bytes(None) == name.encode()
    (tmp_path / "given").write_bytes(b"given")
    assert pip_settings.ca_bytes(tmp_path / "given") == b"given"


def test_index_is_that_of_the_environment_without_folders_of_this_machine(monkeypatch):
    assert pip_settings.index_settings() == {}
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///here https://more.example/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "packages.example")
    assert pip_settings.index_settings() == {
        "PIP_INDEX_URL": "https://packages.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://more.example/simple",
        "PIP_TRUSTED_HOST": "packages.example",
    }
    monkeypatch.setenv("PIP_INDEX_URL", "file:///elsewhere")
    assert "PIP_INDEX_URL" not in pip_settings.index_settings()


@pytest.mark.parametrize(("seconds", "whole"), [(0.001, "1"), (5.0, "5"), (7.1, "8")])
def test_lease_is_rounded_up_to_whole_seconds(seconds, whole):
    arguments = lease_arguments(["main"], seconds)
    assert arguments["entrypoint"][-1] == whole
    assert arguments["command"] == ["main"]


@pytest.mark.parametrize(
    ("requirement", "shown"),
    [
        ("numpy", "numpy"),
        ("pandas >= 2.1, < 3", "pandas>=2.1,<3"),
        ("requests[socks,security]==2.*", "requests[socks,security]==2.*"),
    ],
)
def test_name_with_versions_is_public(requirement, shown):
    assert installation.public_form(requirement) == shown


SECRET = "s3cret-of-the-index"


def test_label_of_an_image_has_no_secret_of_a_requirement():
    requirement = f'mine; platform_version == "{SECRET}"'
    wanted = image_plans.plan(requirements=("numpy", requirement))
    lines = installation._instructions({}, wanted, "sha256:core")
    assert SECRET not in "\n".join(lines)
    (label,) = [line for line in lines if line.startswith(f"LABEL {installation.PACKAGES_LABEL}=")]
    # The engine reads it as a Dockerfile, and finds equal requirements by it.
    names = label.partition("=")[2].strip('"').split()
    assert names == [installation.public_form(one) for one in wanted.requirements]
    assert installation.public_form(requirement) != installation.public_form(requirement + "x")


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

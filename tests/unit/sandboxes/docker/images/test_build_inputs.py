"""Settings of a build from the environment, and of the lease from its figure."""

from __future__ import annotations

import pytest

from smolagents_fork.sandboxes import pip_settings
from smolagents_fork.sandboxes.docker.create_arguments import lease_arguments
from smolagents_fork.sandboxes.docker.images import image_plans, installation

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

"""Images by content: built once, failing in pip's words, in peace with one another."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from smolagents_fork.containers import images
from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    ImageBuildError,
)
from smolagents_fork.executors.docker import DockerExecutor


def test_second_setup_builds_nothing(image):
    lines: list[str] = []
    started = time.monotonic()
    assert DockerExecutor.setup(progress=lines.append) == image
    assert lines == []
    assert time.monotonic() - started < 5


def test_standard_library_names_need_no_image_of_their_own(image):
    names = ["json", "os.path", "collections.*", "*", "xml.etree"]
    lines: list[str] = []
    assert DockerExecutor.setup(names, progress=lines.append) == image
    assert lines == []


def test_import_names_become_distributions_and_work_without_a_network(make):
    executor = make(["yaml", "six"])
    assert executor("import yaml; yaml.safe_load('a: [1, 2]')").output == {"a": [1, 2]}
    assert executor.container.attrs["HostConfig"]["NetworkMode"] == "none"


def test_failed_install_raises_with_pips_own_words(image):
    with pytest.raises(ImageBuildError) as caught:
        DockerExecutor(requirements=["six==99.99.99"])
    assert "No matching distribution found for six==99.99.99" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_base_image_that_cannot_be_had_says_which_and_what_to_do():
    with pytest.raises((ImageBuildError, EngineUnavailableError)) as caught:
        DockerExecutor.setup(base_image="127.0.0.1:9/no-such:image", progress=lambda _line: None)
    assert "127.0.0.1:9/no-such:image" in str(caught.value)
    assert images.BASE_IMAGE_VARIABLE in str(caught.value)


def test_image_that_does_not_exist(image):
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(image="127.0.0.1:9/no-such:image")
    assert "127.0.0.1:9/no-such:image" in str(caught.value)


def test_image_without_a_kernel_is_an_error_with_its_last_words(base_image):
    if not base_image:
        pytest.skip("no base image is named")
    started = time.monotonic()
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(
            image=base_image,
            startup_timeout_seconds=10,
            container_run_kwargs={"command": ["sh", "-c", "echo out of order; exit 5"]},
        )
    assert time.monotonic() - started < 12
    assert "exit code 5" in str(caught.value)


def test_two_processes_build_the_same_image_at_once(image, base_image):
    code = (
        "from smolagents_fork.executors.docker import DockerExecutor\n"
        "print(DockerExecutor.setup(requirements=['iniconfig==2.0.0'], progress=lambda line: None))"
    )
    builders = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    names = {builder.communicate(timeout=180)[0].strip() for builder in builders}
    assert [builder.returncode for builder in builders] == [0, 0]
    assert len(names) == 1
    assert names.pop().startswith("smolagents-fork-jupyter:")


def test_progress_is_plain_lines_where_there_is_no_terminal(image):
    # nocache for a name of its own would build for a minute; an image that exists says nothing.
    code = (
        "from smolagents_fork.executors.docker import DockerExecutor\n"
        "DockerExecutor.setup(requirements=['iniconfig==2.1.0'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=True
    )
    assert "\x1b" not in done.stderr
    if done.stderr:
        assert done.stderr.startswith("building smolagents-fork-jupyter:")


def test_no_ca_file_and_no_index_in_the_image(image, engine):
    history = engine.api.history(image)
    assert "ca.pem" not in str(
        [entry["CreatedBy"] for entry in history if "COPY" in entry["CreatedBy"]]
    )
    assert "PIP_INDEX_URL" not in str(history)
    output = engine.containers.run(image, ["sh", "-c", "ls /build || true"], remove=True)
    assert b"ca.pem" not in output


def test_dockerfile_of_the_users_own(make, image):
    # In upstream's form: a gateway started by its own command, listening on port 8888.
    content = (
        f'FROM {image}\nCMD ["python", "-m", "kernel_gateway", "--KernelGatewayApp.port=8888"]\n'
    )
    executor = make(dockerfile_content=content)
    assert executor("1+1").output == 2
    with pytest.raises(Exception, match="ended"):
        executor("import os; os._exit(1)")
    assert executor("2+2").output == 4


def test_named_image_is_used_as_it_is(make, image, engine):
    engine.api.tag(image, "smolagents-fork-test-as-is", "latest")
    executor = make(image_name="smolagents-fork-test-as-is", build_new_image=False)
    assert executor.container.attrs["Config"]["Image"] == "smolagents-fork-test-as-is"


def test_install_packages_before_code_has_run(make):
    executor = make()
    executor.send_variables({"kept": 3})
    assert executor.install_packages(["yaml", "six"]) == ["yaml", "six"]
    assert executor("import yaml; yaml.safe_load('1') + kept").output == 4
    with pytest.raises(Exception, match="additional_authorized_imports"):
        executor.install_packages(["attr2"])


def test_contradictions():
    with pytest.raises(ConfigurationError, match="exclude one another"):
        DockerExecutor(image="a", dockerfile_content="FROM b")
    with pytest.raises(ConfigurationError, match="is no requirement"):
        DockerExecutor(requirements=["--index-url=http://example.com"])
    with pytest.raises(ConfigurationError, match=r"ca_bundle='/no/such/file'"):
        DockerExecutor(requirements=["iniconfig==2.0.1"], ca_bundle="/no/such/file")

"""Packages for code that has run: into the running container, when it has a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smolagents_fork.errors import ConfigurationError, ExecutorError
from smolagents_fork.executors.docker import DockerExecutor, DockerPool

CA = Path("/etc/ssl/certs/ca-certificates.crt")
ONLINE = {"network": "bridge", "ca_bundle": CA if CA.exists() else None}

pytestmark = pytest.mark.network


def test_installed_into_the_running_container_with_its_state(make):
    executor = make(**ONLINE, timeout_seconds=60)
    executor("kept = [1, 2, 3]")
    first = executor.container.id
    assert executor.install_packages(["ruamel.yaml"]) == ["ruamel.yaml"]
    code = "from ruamel.yaml import YAML\nYAML(typ='safe').load('a: [1, 2]')['a'], len(kept)"
    assert executor(code).output == ([1, 2], 3)
    assert executor.container.id == first
    assert executor.install_packages(["ruamel.yaml"]) == ["ruamel.yaml"]

    with pytest.raises(ExecutorError) as caught:
        executor.install_packages(["six==99.99.99"])
    assert "No matching distribution found for six==99.99.99" in str(caught.value)
    assert "six==99.99.99" not in executor.installed_packages
    assert executor("len(kept)").output == 3

    # A kernel that died, and a container that is replaced, have it again.
    with pytest.raises(ExecutorError):
        executor("import os; os._exit(1)")
    assert executor(code.replace("len(kept)", "3")).output == ([1, 2], 3)
    executor.restart()
    assert executor(code.replace("len(kept)", "3")).output == ([1, 2], 3)


def test_without_a_network_the_error_says_what_to_do(shared):
    shared("kept = 1")
    with pytest.raises(ExecutorError) as caught:
        shared.install_packages(["ruamel.yaml"])
    assert "there is no network to install from" in str(caught.value)
    assert "additional_authorized_imports" in str(caught.value)
    assert "give the executor allowed_hosts= or network='bridge'" in str(caught.value)
    assert shared("kept").output == 1


def test_container_of_a_pool(image):
    with DockerPool(min_size=0, max_size=1, **ONLINE) as pool, DockerExecutor(pool=pool) as one:
        one.install_packages(["six"])
        assert one("import six; six.PY3").output is True


def test_secret_of_the_index_does_not_enter_the_container(networked, monkeypatch):
    networked("1")
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:hunter2@example.com/simple")
    with pytest.raises(ConfigurationError, match="PIP_INDEX_URL contains a user name") as caught:
        networked.install_packages(["six"])
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in str(networked("import os; dict(os.environ)").output)
    assert os.environ["PIP_INDEX_URL"]


@pytest.mark.parametrize(
    "install",
    [
        "!pip install -q {}",
        "%pip install -q {}",
        "import subprocess\nsubprocess.run(['pip', 'install', '-q', '{}'], check=True)",
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', '{}'], check=True)",
    ],
    ids=["shell", "magic", "command", "module"],
)
def test_codes_own_pip_installs_where_install_packages_does(networked, install):
    executor = networked
    executor(install.format("toolz==0.12.1"))
    code = "import toolz\nplace = toolz.__file__\n[toolz.__version__, place]"
    version, place = executor(code).output
    assert version == "0.12.1"
    assert place.startswith("/workspace/.packages/lib/python3")
    # Another process of the program's finds it, too.
    child = (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import toolz']).returncode"
    )
    assert executor(child).output == 0
    executor(
        "import subprocess\nsubprocess.run(['pip', 'uninstall', '-y', '-q', 'toolz'], check=True)\n"
        "import sys\n"
        "for name in [name for name in sys.modules if name.split('.')[0] == 'toolz']:\n"
        "    del sys.modules[name]"
    )


@pytest.fixture(scope="module")
def networked(image):
    with DockerExecutor(**ONLINE, timeout_seconds=120) as executor:
        yield executor


def test_pip_of_the_code_leaves_no_folder_without_a_network(make):
    assert make()("import os\nos.listdir('.')").output == []

"""The public names: upstream's all, and the few the fork adds."""

from __future__ import annotations

import importlib.metadata
import json

import pytest
import smolagents
from background import run_python
from smolagents import local_python_executor, remote_executors

import smolagents_fork
from tools.series.lint import TOP_LEVEL_MODULES


def test_executor_types_are_exported():
    assert smolagents.PythonExecutor is local_python_executor.PythonExecutor
    assert smolagents.CodeOutput is local_python_executor.CodeOutput
    assert smolagents.RemotePythonExecutor is remote_executors.RemotePythonExecutor


def test_versions_agree():
    version = importlib.metadata.version("smolagents")
    assert smolagents.__version__ == version
    upstream, revision = smolagents_fork.upstream_version, smolagents_fork.fork_revision
    assert version == f"{upstream}+fork.{revision}"


def test_importing_the_forks_package_is_cheap():
    """Neither the package nor the engine of a cluster imports docker, smolagents or a client."""
    code = (
        "import json, sys\n"
        "from smolagents_fork import KubernetesEngine\n"
        "KubernetesEngine(namespace='agents')\n"
        "print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    loaded = json.loads(run_python(code))
    assert not {"docker", "smolagents", "websocket", "numpy", "PIL", "kubernetes"} & set(loaded)


def test_importing_smolagents_imports_no_executor():
    code = (
        "import json, smolagents, sys\n"
        "names = [n for n in sys.modules if n.split('.')[0] == 'smolagents_fork']\n"
        "print(json.dumps([names, dir(smolagents), 'docker' in sys.modules]))"
    )
    names, public, docker = json.loads(run_python(code))
    package = {f"smolagents_fork{module}" for module in ("", "._version", ".errors", ".upstream")}
    executors = "smolagents_fork.executors"
    agents = f"{executors}.agents"
    hook = {executors, agents, f"{agents}.upstream_names"}
    assert set(names) == package | hook
    assert not docker
    assert {"LocalPythonExecutor", "DockerExecutor", "CodeAgent"} <= set(public)


def test_star_import_and_modules_give_the_forks_executors():
    run_python(
        "from smolagents import *\n"
        "import sys, smolagents_fork\n"
        "assert DockerExecutor is smolagents_fork.DockerExecutor\n"
        "CodeAgent, Tool, UpstreamDockerExecutor\n"
        "modules = {n: vars(m) for n, m in sys.modules.items() if n.startswith('smolagents.')}\n"
        "names = [n for n, names in modules.items() if 'LocalPythonExecutor' in names]\n"
        "assert 'smolagents.local_python_executor' in names\n"
        "for name in names:\n"
        "    found = sys.modules[name].LocalPythonExecutor\n"
        "    assert found is smolagents_fork.LocalPythonExecutor is LocalPythonExecutor, name"
    )


def test_function_of_upstream_makes_the_forks_local_executor_and_tests_for_it():
    """A release may choose executors in any module, by any name of the class."""
    source = (
        "CLASSES = {'local': LocalPythonExecutor}\n"
        "def make(): return CLASSES['local'](['json'], max_print_outputs_length=7)\n"
        "def is_local(executor): return isinstance(executor, CLASSES['local'])\n"
    )
    run_python(
        "import sys, types, smolagents\n"
        "module = sys.modules['smolagents.made'] = types.ModuleType('smolagents.made')\n"
        # As the module would have imported it before the fork replaced it.
        "upstreams = vars(smolagents.local_python_executor)['LocalPythonExecutor']\n"
        "module.LocalPythonExecutor = upstreams\n"
        f"exec({source!r}, vars(module))\n"
        "executor = module.make()\n"
        "assert type(executor) is smolagents.LocalPythonExecutor is not upstreams\n"
        "assert executor.max_print_outputs_length == 7\n"
        "assert module.is_local(executor)"
    )


def test_name_that_smolagents_does_not_have_is_an_error():
    with pytest.raises(AttributeError, match="module 'smolagents' has no attribute 'Nothing'"):
        smolagents.Nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nothing' from 'smolagents'"):
        from smolagents import Nothing  # noqa: F401


@pytest.mark.slow
def test_both_orders_of_import_work():
    """The patches import the fork, and the fork imports smolagents: neither order may fail.

    Each is a process, forked when packages that take long are imported; one for every module that
    patches or users import.
    """
    exported = set(smolagents_fork._EXPORTS.values())
    run_python(
        "import os, sys\n"
        "import PIL.Image, jinja2, requests, rich.markdown, rich.syntax\n"
        "from huggingface_hub import InferenceClient, metadata_update, snapshot_download\n"
        "for first in sys.argv[1:]:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        __import__(first)\n"
        "        import smolagents\n"
        "        smolagents.CodeAgent\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0, first",
        *("smolagents", *sorted({*TOP_LEVEL_MODULES, *exported})),
    )


def test_every_exported_name_exists():
    for name in smolagents_fork.__all__:
        assert getattr(smolagents_fork, name) is not None
        assert name in dir(smolagents_fork)

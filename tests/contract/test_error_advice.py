"""Errors that the surroundings of the code explain: each executor says what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from smolagents import LocalPythonExecutor

from smolagents_fork import DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.errors import ExecutorError
from smolagents_fork.text.hints import advice

RELATIVE = "The code's files are in its working folder: use relative paths, such as 'data.csv'"
OUTSIDE = ": use a library, or give the agent a tool, which runs outside"
NO_PROCESSES = f"The sandbox starts no processes and permits few system calls{OUTSIDE}"
#: What an executor says about a module of a package that it does not have.
NOT_INSTALLED = {
    "local": (
        "'lxml' is not installed: the agent's author can install it beside smolagents and pass "
        "additional_authorized_imports=['lxml']"
    ),
    "wasm": (
        "'lxml' is not installed: the agent's author can pass "
        "additional_authorized_imports=['lxml'], which installs it"
    ),
    "docker": (
        "'lxml' is not installed in the sandbox. To have it installed, pass its import name to the "
        "executor in additional_authorized_imports=, or a pip requirement in requirements="
    ),
}
NOT_INSTALLED["process"] = NOT_INSTALLED["local"]
#: Path in an error about files -> whether relative paths are the remedy.
PATHS = {
    "/mnt/data/x.csv": True,
    "/tmp/x.csv": True,
    "~/x.csv": True,
    "C:\\data\\x.csv": True,
    "data/x.csv": False,
}


@pytest.fixture(
    scope="module",
    params=[
        "local",
        pytest.param("process", marks=pytest.mark.slow),
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("wasm", marks=pytest.mark.wasm),
    ],
)
def named(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """An executor and its name."""
    if request.param == "local":
        executor = LocalPythonExecutor([])
        executor.send_tools({})
        yield "local", executor
        return
    if request.param != "process":
        request.getfixturevalue({"docker": "engine", "wasm": "wasm_machine"}[request.param])
    kinds: dict[str, Any] = {
        "process": ProcessExecutor,
        "docker": DockerExecutor,
        "wasm": WasmExecutor,
    }
    imports = [
        "concurrent.futures",
        "multiprocessing.*",
        "os",
        "socket",
        "subprocess",
        "urllib.request",
    ]
    with kinds[request.param](imports) as executor:
        yield request.param, executor


def error_of(named: tuple[str, Any], code: str) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the executors' errors differ
        named[1](code)
    return str(caught.value)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["FileNotFoundError", "PermissionError"])
def test_path_outside_the_folder(named: tuple[str, Any], kind: str, path: str):
    text = error_of(named, f"raise {kind}(2, 'refused', {path!r})")
    assert text.count(RELATIVE) == int(PATHS[path])


def test_optional_module_of_a_library(named: tuple[str, Any]):
    code = """
try:
    raise ModuleNotFoundError("No module named 'lxml'", name="lxml")
except ImportError:
    raise ImportError("tables need a parser") from None
"""
    text = error_of(named, code)
    assert "\nCaused by ModuleNotFoundError: No module named 'lxml'" in text
    assert text.count(NOT_INSTALLED[named[0]]) == 1


@pytest.mark.parametrize(
    "words",
    [
        "ImportError('Missing optional dependency \\'lxml\\'. Use pip to install lxml.')",
        "ImportError('`Import lxml` failed. Use pip to install the lxml package.')",
        "AttributeError('The .style accessor requires lxml')",
    ],
)
def test_words_for_an_optional_module_without_a_cause(named: tuple[str, Any], words: str):
    assert error_of(named, f"raise {words}").count(NOT_INSTALLED[named[0]]) == 1


def test_value_of_a_library_that_the_sandbox_does_not_have(named: tuple[str, Any]):
    words = "lxml is needed to decode this: No module named 'lxml'"
    code = f"class DecodeError(ValueError): pass\nraise DecodeError({words!r})"
    assert error_of(named, code).count(NOT_INSTALLED[named[0]]) == 1


def test_picture_for_a_sandbox_without_pillow(named: tuple[str, Any]):
    if named[0] in ("local", "process"):
        pytest.skip("the packages are those of this environment")
    picture = Image.new("RGB", (1, 1))
    named[1].send_tools({"draw": lambda: picture})
    with pytest.raises(ExecutorError) as caught:
        named[1].send_variables({"picture": picture})
    for text in (error_of(named, "draw()"), str(caught.value)):
        assert "PIL is needed to decode this: No module named 'PIL'" in text
        assert text.count(NOT_INSTALLED[named[0]].replace("lxml", "PIL")) == 1


FILES = (
    "Files are limited by file_size= in a process, and by workdir_size= and tmp_size= in a "
    "container: write less, or raise that"
)
LIMITS = {
    'RuntimeError("can\'t start new thread")': (
        "Threads are limited by max_threads= in a process and pids_limit= in a container, and "
        "WebAssembly has none: use a loop, or asyncio"
    ),
    "MemoryError()": (
        "Memory is limited by memory= of a sandbox: work in smaller pieces, or raise it"
    ),
    "MemoryError('Unable to allocate 1 TiB')": (
        "Memory is limited by memory= of a sandbox: work in smaller pieces, or raise it"
    ),
    "OSError(27, 'File too large')": FILES,
    "OSError(28, 'No space left on device', 'a.csv')": FILES,
}


@pytest.mark.parametrize("error", LIMITS)
def test_limit_that_is_reached(named: tuple[str, Any], error: str):
    assert error_of(named, f"raise {error}").endswith(f"\n{LIMITS[error]}")


def test_module_of_another_system(named: tuple[str, Any]):
    code = "raise ModuleNotFoundError(\"No module named 'winreg'\", name='winreg')"
    assert error_of(named, code).endswith(
        "\n'winreg' belongs to the standard library of another version, or of another system: the "
        "Python that runs this code does not have it"
    )


@pytest.mark.parametrize("code", ["!pip install -q lxml", "%pip install lxml", "pip install lxml"])
def test_command_of_a_notebook(named: tuple[str, Any], code: str):
    if named[0] == "docker":
        pytest.skip("a kernel runs the commands of notebooks")
    text = error_of(named, f"a = 1\n{code}")
    assert text.endswith(
        "\nCommands of notebooks and shells are not Python, and are not run here\n"
        + NOT_INSTALLED[named[0]]
    )


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['true'])",
        "import os\nos.fork()",
        "import os\nos.spawnv(os.P_WAIT, '/bin/true', ['true'])",
        "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        "import multiprocessing\nmultiprocessing.Queue()",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(1)",
    ],
)
def test_processes(named: tuple[str, Any], code: str):
    if named[0] in ("local", "docker"):
        pytest.skip("code can start processes here")
    text = error_of(named, code)
    assert text.count(NO_PROCESSES) == 1
    assert "has no network" not in text
    assert "standard library" not in text


@pytest.mark.parametrize(
    "call", ["forkpty()", "execv('/bin/true', ['true'])", "posix_spawn('/bin/true', ['true'], {})"]
)
def test_processes_that_wasm_has_no_function_for(named: tuple[str, Any], call: str):
    if named[0] != "process":
        pytest.skip("code can start processes here, or does not have the function")
    assert error_of(named, f"import os\nos.{call}").count(NO_PROCESSES) == 1


def test_other_system_call_that_is_refused(named: tuple[str, Any]):
    confined = named[0] in ("process", "wasm")
    code = "raise PermissionError(1, 'Operation not permitted')"
    assert error_of(named, code).count(NO_PROCESSES) == int(confined)
    code = "raise PermissionError(13, 'Permission denied', 'x.txt')"
    assert NO_PROCESSES not in error_of(named, code)


def test_system_of_wasm(named: tuple[str, Any]):
    if named[0] != "wasm":
        pytest.skip("the call gives the shell's exit code elsewhere")
    assert error_of(named, "import os\nos.system('true')").count(NO_PROCESSES) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.create_connection(('127.0.0.1', 9))",
        "import urllib.request\nurllib.request.urlopen('http://localhost:9')",
    ],
)
def test_loopback(named: tuple[str, Any], code: str):
    if named[0] == "local":
        pytest.skip("the code has the host's network")
    text = error_of(named, code)
    own = "The sandbox's 127.0.0.1 and localhost are its own, and not the host's: give the agent "
    assert (f"{own}a tool, which runs outside" in text) is (named[0] == "docker")
    assert ("This sandbox has no network: " in text) is (named[0] != "docker")


def test_refusal_that_is_not_of_a_connection(named: tuple[str, Any]):
    text = error_of(named, "raise PermissionError(13, 'Permission denied')")
    assert "This sandbox has no network" not in text


@pytest.mark.parametrize(
    "message",
    [
        "PermissionError: [Errno 13] Permission denied",
        "Cannot connect to host 1.1.1.1:443 ssl:default [Permission denied]",
    ],
)
def test_connection_that_passes_the_proxy_by(message: str):
    assert advice(message, "use docker", proxied=True) == (
        "\nThis sandbox has no network: use docker, or give the agent a tool, which runs outside"
    )


def test_database_outside_the_folder():
    assert RELATIVE in advice("OperationalError: unable to open database file")
    assert advice("OperationalError: no such table: a") == ""


def test_refused_connection_with_a_network_is_the_loopbacks_only_where_it_is_named():
    refused = "ConnectionRefusedError: [Errno 111] Connection refused"
    assert advice(refused, own_loopback=True) == ""
    assert "are its own" in advice(f"{refused} (http://localhost:80)", own_loopback=True)
    assert advice(f"{refused} (http://localhost:80)") == ""


def test_http_client_that_speaks_of_node_js_is_about_the_network():
    text = (
        "ConnectionError: ('Connection aborted.', HTTPException('urllib3 only works in Node.js'))"
    )
    assert advice(text, "use docker") == (
        "\nThis sandbox has no network: use docker, or give the agent a tool, which runs outside"
    )


@pytest.mark.parametrize("name", ["json", "absent", "annotationlib", "numpy.misspelt"])
def test_module_that_cannot_be_installed(name: str):
    text = advice(f"ModuleNotFoundError: No module named {name!r}")
    assert ("is not installed" in text) is (name == "absent")

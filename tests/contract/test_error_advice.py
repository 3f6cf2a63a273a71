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
FILES = (
    "Files are limited by file_size= in a process, and by workdir_size= and tmp_size= in a "
    "container: write less, or raise that"
)
THREADS = (
    "Threads are limited by max_threads= in a process and pids_limit= in a container, and "
    "WebAssembly has none: use a loop, or asyncio"
)
NOBODY = (
    "Nobody answers a program here: take a value as a variable or through a tool, and look at "
    "values by print()"
)
MEMORY = "Memory is limited by memory= of a sandbox: work in smaller pieces, or raise it"
OTHER_SYSTEM = (
    "'winreg' belongs to the standard library of another version, or of another system: the "
    "Python that runs this code does not have it"
)
LOOPBACK = (
    "The sandbox's 127.0.0.1 and localhost are its own, and not the host's: give the agent a tool, "
    "which runs outside"
)
NO_NETWORK = "This sandbox has no network: "
COMMANDS = "Commands of notebooks and shells are not Python, and are not run here"
#: Stands for the executor's own advice on a package.
PACKAGE = "PACKAGE"
ALL, CONFINED = ("local", "process", "docker", "wasm"), ("process", "wasm")
EACH = (RELATIVE, NO_PROCESSES, FILES, NOBODY, THREADS, MEMORY, OTHER_SYSTEM, LOOPBACK, NO_NETWORK)
#: Programs, what their errors advise once, and the executors in which they fail so.
ADVICE = [
    *(
        (f"raise {kind}(2, 'refused', {path!r})", RELATIVE, ALL)
        for kind in ("FileNotFoundError", "PermissionError")
        for path in ("/mnt/data/x.csv", "/tmp/x.csv", "~/x.csv", "C:\\data\\x.csv")
    ),
    *(
        (f"class DecodeError(ValueError): pass\nraise {error}", PACKAGE, ALL)
        for error in (
            "ImportError(\"Missing optional dependency 'lxml'. Use pip to install lxml.\")",
            "ImportError('`Import lxml` failed. Use pip to install the lxml package.')",
            "AttributeError('The .style accessor requires lxml')",
            "DecodeError(\"lxml is needed to decode this: No module named 'lxml'\")",
        )
    ),
    *(
        (f"a = 1\n{command}", f"{COMMANDS}\n{PACKAGE}", ("local", *CONFINED))
        for command in ("!pip install -q lxml", "%pip install lxml", "pip install lxml")
    ),
    ("raise EOFError", NOBODY, ALL),
    ("import pdb\npdb.set_trace()", NOBODY, ("process", "docker")),
    ('raise RuntimeError("can\'t start new thread")', THREADS, ALL),
    ("raise MemoryError()", MEMORY, ALL),
    ("raise MemoryError('Unable to allocate 1 TiB')", MEMORY, ALL),
    ("raise OSError(27, 'File too large')", FILES, ALL),
    ("raise OSError(28, 'No space left on device', 'a.csv')", FILES, ALL),
    ("raise ModuleNotFoundError(\"No module named 'winreg'\", name='winreg')", OTHER_SYSTEM, ALL),
    *(
        (code, NO_PROCESSES, CONFINED)
        for code in (
            "import subprocess\nsubprocess.run(['true'])",
            "import os\nos.fork()",
            "import os\nos.spawnv(os.P_WAIT, '/bin/true', ['true'])",
            "import multiprocessing\nmultiprocessing.Process(target=print).start()",
            "import multiprocessing\nmultiprocessing.Queue()",
            "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(1)",
        )
    ),
    # Wasm has no others of these functions.
    *(
        (f"import os\nos.{call}", NO_PROCESSES, (name,))
        for call, name in (
            ("forkpty()", "process"),
            ("execv('/bin/true', ['true'])", "process"),
            ("posix_spawn('/bin/true', ['true'], {})", "process"),
            ("system('true')", "process"),
            ("system('true')", "wasm"),
        )
    ),
    *(
        (code, words, executors)
        for code in (
            "import socket\nsocket.create_connection(('127.0.0.1', 9))",
            "import urllib.request\nurllib.request.urlopen('http://localhost:9')",
        )
        for words, executors in ((LOOPBACK, ("docker",)), (NO_NETWORK, CONFINED))
    ),
    *(
        (f"raise PermissionError({error})", advised, executors)
        for error in ("1, 'Operation not permitted'", "13, 'Permission denied'")
        for advised, executors in ((NO_PROCESSES, CONFINED), ("", ("local", "docker")))
    ),
    *(
        (f"raise {error}", "", ALL)
        for error in (
            "FileNotFoundError(2, 'refused', 'data/x.csv')",
            "PermissionError(2, 'refused', 'data/x.csv')",
            "PermissionError(13, 'Permission denied', 'x.txt')",
        )
    ),
]


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
        "pdb",
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


@pytest.mark.parametrize(("code", "advised", "executors"), ADVICE)
def test_advice_on_an_error(
    named: tuple[str, Any], code: str, advised: str, executors: tuple[str, ...]
):
    if named[0] not in executors:
        pytest.skip("the code does not fail so here")
    text = error_of(named, code)
    given = advised.replace(PACKAGE, NOT_INSTALLED[named[0]])
    counts = {words: text.count(words) for words in (*EACH, NOT_INSTALLED[named[0]])}
    assert counts == {words: int(words in given) for words in counts}
    assert "line ''" not in text
    # Of the network's advice only the beginning is the same everywhere.
    assert text.endswith(given) or given == NO_NETWORK


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


def test_failure_of_the_proxy_is_not_advised_to_use_it():
    message = "HTTP Error 502: network proxy: host 'x.test': Name or service not known"
    assert advice(message, "use the proxy") == ""
    message = "HTTP Error 502: network proxy: host 'localhost', port 1: Connection refused"
    assert advice(message, "use the proxy", own_loopback=True) == ""


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

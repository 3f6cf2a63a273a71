"""Code goes in, output comes out, state stays."""

from __future__ import annotations

import contextlib
import io
import os
import threading

import docker
import pytest
from smolagents.local_python_executor import PythonExecutor
from smolagents.utils import AgentError

from smolagents_fork.errors import ConfigurationError, ExecutorStartError
from smolagents_fork.executors.docker import DockerExecutor


def test_standard_error_is_in_the_logs_in_order(shared):
    code = (
        "import sys\nfor n in range(3):\n    print('out', n)\n    print('err', n, file=sys.stderr)"
    )
    logs = shared(code).logs
    assert sorted(logs.splitlines()) == sorted(f"{s} {n}" for s in ("out", "err") for n in range(3))
    outs = [line for line in logs.splitlines() if line.startswith("out")]
    assert outs == ["out 0", "out 1", "out 2"]


def test_error_carries_the_traceback_and_the_state_what_was_printed_before(shared):
    with pytest.raises(AgentError) as caught:
        shared("print('before')\n1/0")
    message = str(caught.value)
    assert "ZeroDivisionError: division by zero" in message
    assert "line 2" in message
    # Once: an agent sends its model both the message and the printed text.
    assert "before" not in message
    assert shared.state["_print_outputs"] == "before\n"
    assert "\x1b[" not in message


def test_missing_module_gets_advice(shared):
    with pytest.raises(AgentError) as caught:
        shared("print('before')\nimport no_such_module_here.part")
    message = str(caught.value)
    assert (
        "ModuleNotFoundError: No module named 'no_such_module_here'\n\n'no_such_module_here' is "
        "not installed in the sandbox. To have it installed, give its import name to the executor "
        "in additional_authorized_imports=, or a pip requirement in requirements="
    ) in message
    # A program that catches the error sees no advice.
    assert (
        shared("try:\n    import no_such_module_here\nexcept ImportError:\n    got = 1\ngot").output
        == 1
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("quit(1)", "1"),
        ("import sys; sys.exit(3)", "3"),
        ("exit()", None),
        ("import sys; sys.exit(0)", None),
        ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", None),
    ],
)
def test_leaving_ends_the_step_and_the_kernel_stays(shared, code, status):
    shared("kept = 'yes'")
    if status is None:
        assert (shared(code).output, shared(code).logs) == (None, "")
    else:
        with pytest.raises(AgentError, match=rf"SystemExit: {status} \(exit status {status}\)"):
            shared(code)
    assert shared("kept").output == "yes"


def test_top_level_await_and_magics(shared):
    assert shared("import asyncio\nawait asyncio.sleep(0, 'slept')").output == "slept"
    assert "workspace" in shared("!pwd").logs


def test_broken_listener_does_not_break_the_program(make):
    told = []

    def listen(_text):
        told.append(threading.get_ident())
        raise ValueError("no more")

    executor = make(on_output=listen)
    result = executor("print('a', flush=True); print('b'); 7")
    assert result.output == 7
    assert result.logs.startswith("a\nb\n")
    assert "on_output raised ValueError: no more" in result.logs
    # Silenced for that call only, and called in the thread of the call.
    assert told == [threading.get_ident()]
    executor("print('c')")
    assert len(told) == 2


@pytest.fixture
def name(engine):
    """A name for an image that nobody else uses, who may run the same test on the same engine."""
    chosen = f"smolagents-fork-test-name-{os.getpid()}"
    yield chosen
    with contextlib.suppress(docker.errors.ImageNotFound):
        engine.api.remove_image(chosen, force=True, noprune=True)


def test_upstreams_contract_and_keywords(name, make, image, engine):
    assert issubclass(DockerExecutor, PythonExecutor)
    assert DockerExecutor.supports_managed_agents
    executor = make(
        additional_imports=[],
        logger=None,
        allow_pickle=False,
        host="127.0.0.1",
        port=None,
        image_name=name,
        build_new_image=True,
        container_run_kwargs={"environment": ["SEEN=yes"], "labels": {"mine": "1"}},
        dockerfile_content=None,
    )
    assert executor("import os; os.environ['SEEN']").output == "yes"
    executor.container.reload()
    assert executor.container.labels["mine"] == "1"
    named = engine.api.inspect_image(name)
    assert named["Id"] == engine.api.inspect_image(image)["Id"]
    assert executor.is_alive()
    executor.delete()


def test_stats(shared):
    before = shared.stats()
    shared("sum(i * i for i in range(2_000_000))")
    after = shared.stats()
    assert 10_000_000 < after.memory_bytes < 2 << 30
    assert after.memory_limit_bytes == 2 << 30
    assert after.cpu_seconds > before.cpu_seconds
    assert after.pids >= 3


def test_parameter_of_the_wrong_type_is_named(shared):
    for call, words in (
        (lambda: shared.put_file(5, "x"), "put_file: source is int: give a path of this machine"),
        (lambda: shared.put_file(b"x", 5), "put_file: 5 is not a path in the sandbox: give text"),
        (lambda: shared.get_file(5), "get_file: 5 is not a path in the sandbox: give text"),
        (lambda: shared.get_file("x", max_bytes="5"), "max_bytes='5': give a whole number"),
        (lambda: shared.send_tools([print]), "tools=[<built-in function print>]: give a mapping"),
        (lambda: shared.send_variables([1]), "variables=[1]: give a mapping"),
        (lambda: shared(5), "code is int: give text"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert str(caught.value).startswith(words)
    shared.put_file(bytearray(b"of any kind"), "bytes.txt")
    assert shared.get_file("bytes.txt") == b"of any kind"


def test_image_without_a_command_says_what_it_has_to_start(engine):
    tag = "smolagents-fork-test-no-command"
    engine.images.build(fileobj=io.BytesIO(b"FROM scratch\nLABEL a=1\n"), tag=tag, rm=True)
    try:
        message = f"image '{tag}' has no command .*Jupyter kernel gateway on port 8888"
        with pytest.raises(ExecutorStartError, match=message):
            DockerExecutor(image=tag)
    finally:
        engine.images.remove(tag)


def test_file_errors_name_the_file(shared):
    from smolagents_fork.errors import ExecutorError

    with pytest.raises(ExecutorError, match=r"get_file: /workspace/absent.txt .*No such file"):
        shared.get_file("absent.txt")
    with pytest.raises(ExecutorError, match=r"/etc/mine .*Read-only file system"):
        shared.put_file(b"x", "/etc/mine")
    shared.put_file(b"x" * 100, "big")
    with pytest.raises(ExecutorError, match=r"more than 10 bytes"):
        shared.get_file("big", max_bytes=10)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds=0: give a finite number of seconds above 0"),
        ({"timeout_seconds": "5"}, "timeout_seconds='5'"),
        ({"memory": "lots"}, "memory='lots': give text with a unit, such as"),
        ({"cpus": -1}, "cpus=-1"),
        ({"pids_limit": 0}, "pids_limit=0"),
        ({"port": 99999}, "port=99999"),
        ({"on_death": "panic"}, "on_death='panic': give one of 'restart', 'fail'"),
        ({"memory": "256m", "workdir_size": "300m"}, "leave nothing of memory='256m'"),
        ({"transport": "port"}, "transport='port' needs a network"),
        ({"timeout": 5}, "no parameter 'timeout'; did you mean 'timeout_seconds'?"),
        ({"tool_placement": {"a": "moon"}}, "tool_placement['a']='moon'"),
        ({"workdir": "relative"}, "workdir='relative': give an absolute path"),
    ],
)
def test_arguments_that_cannot_work(keywords, words):
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor(**keywords)
    assert words in str(caught.value)


@pytest.mark.parametrize("code", ["", "   ", "\n\n", "# only words"])
def test_code_without_a_statement_gives_nothing(shared, code):
    result = shared(code)
    assert (result.output, result.logs) == (None, "")


def test_code_in_any_letters_and_what_is_no_code(shared):
    assert shared("größe = '漢字 😀'\r\ngröße * 2").output == "漢字 😀" * 2
    with pytest.raises(AgentError, match="null bytes"):
        shared("1\0 + 1")
    with pytest.raises(ConfigurationError, match="code is bytes: give text"):
        shared(b"1 + 1")
    assert shared("1 + 1").output == 2

"""Whole agents in a container on a real engine: the guide's programs, and the host's model."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from background import PrintedLine, acting, at_once, eventually, running
from scripted_model import Caller, ScriptedModel
from secret_servers import TOKEN, SecretHandler
from smolagents import ChatMessage, CodeAgent, ToolCallingAgent, tool
from smolagents.models import ChatMessageStreamDelta, InferenceClientModel
from smolagents.monitoring import TokenUsage
from web_servers import authority, serving

from smolagents_fork import AgentSandbox, AllowedHost, Secret
from smolagents_fork.errors import (
    AgentProgramError,
    ConfigurationError,
    ExecutorClosedError,
    InterpreterError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from tests.chat_server import ChatServer

START = {"startup_timeout_seconds": 180, "timeout_seconds": 120}
KEY = "hf_key_that_must_stay_outside"

# The guide's first program: one agent with a model of its own.
SINGLE = """
import os
from smolagents import CodeAgent, InferenceClientModel

agent = CodeAgent(
    model=InferenceClientModel(os.environ["CHAT"], token=os.getenv("HF_TOKEN")),
    tools=[],
)
response = agent.run("What's the 20th Fibonacci number?")
print(response)
"""
# The guide's second: a manager that delegates to a managed agent.
MANAGER = """
from smolagents import CodeAgent

searcher = CodeAgent(tools=[], model=model, name="searcher", description="Searches the web.")
manager = CodeAgent(tools=[], model=model, managed_agents=[searcher])
print("answer:", manager.run("Who was born first?"))
"""


def code(text: str) -> str:
    return f"Thought: next.\n<code>\n{text}\n</code>"


class Script(ScriptedModel):
    """Answers with prepared texts, and holds a key as a client's model does."""

    def __init__(self, *answers: str) -> None:
        super().__init__(*answers)
        self.api_key = KEY
        self.seen: list[Any] = []

    def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
        self.seen.append((messages, arguments))
        answer = super().generate(messages)
        answer.token_usage = TokenUsage(input_tokens=5, output_tokens=2)
        return answer

    def generate_stream(self, messages: Any, **arguments: Any) -> Any:
        for part in self.generate(messages, **arguments).content.split(" "):
            yield ChatMessageStreamDelta(content=part + " ")


# -- the guide's programs --


def test_single_agent_of_the_guide_runs_with_a_secret_and_a_network(engine: Any) -> None:
    gateway = engine.api.inspect_network("bridge")["IPAM"]["Config"][0].get("Gateway", "172.17.0.1")
    server = ChatServer(code("final_answer(6765)"))
    with (
        server.serving() as port,
        AgentSandbox(
            secrets={"HF_TOKEN": KEY, "CHAT": f"http://{gateway}:{port}/v1/chat/completions"},
            network="bridge",
            memory="512m",
            cpus=0.5,
            pids_limit=100,
            **START,
        ) as box,
    ):
        output = box.run_code(SINGLE)
        assert KEY not in str(engine.api.inspect_container(box.container.id))
    assert output.splitlines()[-1] == "6765"
    assert server.authorisations == [f"Bearer {KEY}"]


def test_managed_agent_of_the_guide_runs_on_the_hosts_model_without_network(on_host: Any) -> None:
    model = Script(
        code("print(searcher(task='find'))"),
        code("final_answer('Ada, 1815')"),
        code("final_answer('Ada')"),
    )
    box = on_host(model)
    output = box.run_code(MANAGER)
    assert "answer: Ada" in output
    interfaces = box.run_code("import os; print(os.listdir('/sys/class/net'))")
    assert interfaces == "['lo']\n"
    assert len(model.seen) == 3
    assert model.answers == []


def test_hosts_key_is_nowhere_in_the_sandbox(on_host: Any) -> None:
    search = f"""
import os
from pathlib import Path
needle = {KEY[::-1]!r}[::-1].encode()
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            data = Path("/proc", pid, name).read_bytes()
        except OSError:
            continue
        if needle in data:
            found.append((pid, name))
for root in ("/workspace", "/tmp", "/run", "/opt/kernel/lib/python3.11/site-packages/smolagents"):
    for path in Path(root).rglob("*"):
        if path.is_file() and path.name != "program.py" and needle in path.read_bytes():
            found.append(str(path))
values = [model.generate([{{"role": "user", "content": "hi"}}]), vars(model)]
print("found", found, needle.decode() in repr(values))
"""
    box = on_host(Script("hello"))
    assert box.run_code(search) == "found [] False\n"


def test_listed_hosts_alone_are_reached_and_get_a_secret_that_is_not_in_the_sandbox(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import json, os, requests
headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
answer = requests.get("https://localhost:PORT/echo", headers=headers, timeout=60)
print(os.environ["TOKEN"], json.loads(answer.text)["fields"]["authorization"], os.environ["LEVEL"])
print(os.listdir("/sys/class/net"), requests.get("http://localhost:1/a", timeout=60).status_code)
"""
    context, path = authority(tmp_path, "localhost")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", path)  # what the host trusts
    with serving(context, SecretHandler) as server:
        server.seen = []
        host = f"localhost:{server.port}"
        with AgentSandbox(
            allowed_hosts=[AllowedHost(host, private=True)],
            secrets={"TOKEN": Secret(TOKEN, hosts=[host]), "LEVEL": "3"},
            **START,
        ) as box:
            output = box.run_code(program.replace("PORT", str(server.port)))
        [(_, _, fields, _)] = server.seen
    assert fields["authorization"] == f"Bearer {TOKEN}"
    token, bearer, sent_back, level, *network = output.split()
    assert network == ["['lo']", "403"]
    assert (bearer, sent_back, level) == ("Bearer", token, "3")
    assert token != TOKEN


# -- the model on the host --


def test_streamed_answers_arrive_piece_by_piece(on_host: Any) -> None:
    program = """
from smolagents import ChatMessage
pieces = [delta.content for delta in model.generate_stream([{"role": "user", "content": "hi"}])]
print(pieces)
stream = model.generate_stream([{"role": "user", "content": "again"}])
print(next(stream).content)
stream.close()
print(model.generate([{"role": "user", "content": "third"}]).token_usage.input_tokens)
"""
    model = Script("one two three", "four five", "six")
    box = on_host(model)
    assert box.run_code(program) == "['one ', 'two ', 'three ']\nfour \n5\n"


def test_program_can_be_interrupted_while_the_model_works(on_host: Any) -> None:
    class Slow(Script):
        asked, released = threading.Event(), threading.Event()

        def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
            self.asked.set()
            self.released.wait(100)
            return super().generate(messages, **arguments)

    program = "print(model.generate([{'role': 'user', 'content': 'hi'}]).content)"
    slow = Slow("too late")
    box = on_host(slow)
    with (
        acting(slow.asked.is_set, box.interrupt),
        pytest.raises(AgentProgramError, match="the program was interrupted; its processes"),
    ):
        box.run_code(program)
    assert on_host(Script("in time")).run_code(program) == "in time\n"
    slow.released.set()


#: Connections of a program to the supervisor, as its model object makes them.
CONNECTIONS = """
import os
from multiprocessing.connection import Client
from smolagents_fork.agent_sandbox.chat_values import chat_classes
from smolagents_fork.codec import decode, encode

def connect():
    return Client(os.environ["SMOLAGENTS_FORK_HOST_MODEL"], "AF_UNIX")

def send(connection, text):
    messages = [{"role": "user", "content": text}]
    connection.send_bytes(encode({"method": "generate", "messages": messages}))

def answer(connection):
    return decode(connection.recv_bytes(), classes=chat_classes())["value"].content
"""


def test_calls_are_passed_on_one_at_a_time_and_dropped_ones_keep_no_other(on_host: Any) -> None:
    model = Script("answer to one", "answer to two", "answer to three")
    program = """
connect().close()
one = connect()
send(one, "one")
one.close()
two, three, last = connect(), connect(), connect()
send(three, "three")
send(two, "two")
print(answer(three), answer(two))
try: two.recv_bytes()
except EOFError: print("end")
"""
    output = on_host(model).run_code(CONNECTIONS + program)
    assert output == "answer to three answer to two\nend\n"
    assert [messages[0].content for messages, _ in model.seen] == ["one", "two", "three"]


def test_program_whose_call_waits_for_its_turn_can_be_interrupted(on_host: Any) -> None:
    program = """
one, two = connect(), connect()
send(two, "two")
open("waiting", "w").close()
two.recv_bytes()
"""
    model = Script()
    box = on_host(model)
    with (
        acting(lambda: "waiting" in [one.path for one in box.list_files()], box.interrupt),
        pytest.raises(AgentProgramError, match="the program was interrupted"),
    ):
        box.run_code(CONNECTIONS + program)
    assert model.seen == []


def test_program_without_a_model_has_no_address_of_one(box: AgentSandbox) -> None:
    program = "import os\nprint('SMOLAGENTS_FORK_HOST_MODEL' in os.environ)"
    assert box.run_code(program) == "False\n"


def test_agent_with_streamed_output_answers(on_host: Any) -> None:
    program = """
from smolagents import CodeAgent
print(CodeAgent(tools=[], model=model, stream_outputs=True).run("6 times 7?"))
"""
    box = on_host(Script(code("final_answer(6 * 7)")))
    assert box.run_code(program).rstrip().endswith("42")


def test_arguments_a_client_would_take_are_refused_unless_named(on_host: Any) -> None:
    program = """
message = [{"role": "user", "content": "hi"}]
for arguments in ({"api_base": "http://elsewhere"}, {"temperature": 0.5}):
    try:
        print(model.generate(message, **arguments).content)
    except ValueError as error:
        print(error)
"""
    model = Script("hello")
    box = on_host(model)
    refused, taken = box.run_code(program).splitlines()
    assert refused == (
        "argument 'api_base' of generate() is not passed to the model on the host: set it on that "
        "model, or name it in model_arguments= of AgentSandbox"
    )
    assert taken == "hello"
    assert model.seen[0][1] == {"temperature": 0.5}


def test_calls_of_the_hosts_model_are_limited(engine: Any) -> None:
    script = Script(*["42"] * 50)
    program = """
message = [{"role": "user", "content": "x" * SIZE}]
for number in range(COUNT):
    try: model.generate(message)
    except RuntimeError as error: last = str(error)
print(last)
"""
    limits = {"max_model_calls": 5, "max_model_bytes": 100_000}
    with AgentSandbox(model_on_host=script, **limits, **START) as box:
        output = box.run_code(program.replace("SIZE", "10").replace("COUNT", "300"))
        assert "made max_model_calls=5 calls of the model; raise max_model_calls" in output
        assert len(script.seen) == 5
        # Refused calls are not waited for, and are counted.
        with pytest.raises(AgentProgramError) as caught:
            box.run_code(program.replace("SIZE", "10").replace("COUNT", "100_000_000"))
        assert "more than 1000 calls that were refused, the last because" in str(caught.value)
        assert len(script.seen) == 10
        with pytest.raises(AgentProgramError, match="over max_model_bytes=100000; its processes"):
            box.run_code(program.replace("SIZE", "5_000_000").replace("COUNT", "1"))
        assert len(script.seen) == 10
        with pytest.raises(InterpreterError, match="due to: UnicodeEncodeError: "):
            box.run_code("print('\ud83d')")
        assert box.run_code("print(1)") == "1\n"


def test_failing_model_shows_its_message_on_the_host_and_not_inside(on_host: Any) -> None:
    class Failing(Script):
        def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
            raise ConnectionError(f"refused for {KEY}")

    program = "print(model.generate([{'role': 'user', 'content': 'hi'}]))"
    box = on_host(Failing())
    with pytest.raises(
        AgentProgramError, match="model on the host raised ConnectionError"
    ) as found:
        box.run_code(program)
    assert KEY not in found.value.output
    assert "RuntimeError: the model on the host raised ConnectionError" in found.value.output
    assert isinstance(found.value.__cause__, ConnectionError)


def test_images_of_messages_reach_the_hosts_model(on_host: Any) -> None:
    program = """
from PIL import Image
image = Image.new("RGB", (3, 2))
content = [{"type": "text", "text": "what is it?"}, {"type": "image", "image": image}]
print(model.generate([{"role": "user", "content": content}]).content)
try:
    model.generate([{"role": "user", "content": [{"type": "image", "image": "/etc/passwd"}]}])
except ValueError as error:
    print(error)
"""
    model = Script("a box")
    box = on_host(model)
    answer, refusal = box.run_code(program).splitlines()
    assert answer == "a box"
    assert "other addresses and paths do not leave the sandbox" in refusal
    (message,) = model.seen[0][0]
    assert message.content[1]["image"].size == (3, 2)


def test_tool_calling_agent_gets_its_tools_described_to_the_hosts_model(on_host: Any) -> None:
    class Noting(Caller):
        def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
            tools.append([one.name for one in arguments["tools_to_call_from"]])
            return super().generate(messages)

    tools: list[list[str]] = []
    program = """
from smolagents import ToolCallingAgent, tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles.

    Args:
        number: to double.
    \"\"\"
    return 2 * number

print("answer:", ToolCallingAgent(tools=[double], model=model).run("double 21"))
"""
    model = Noting(("double", {"number": 21}), ("final_answer", {"answer": 42}))
    assert "answer: 42" in on_host(model).run_code(program)
    assert tools == [["double", "final_answer"]] * 2


# -- saved agents --


@tool
def shout(text: str) -> str:
    """Writes in capitals.

    Args:
        text: to write.
    """
    return text.upper()


def saved(folder: Path, **keywords: Any) -> Path:
    model = InferenceClientModel(model_id="some/model", token="not-a-token")
    helper = ToolCallingAgent(tools=[], model=model, name="helper", description="Helps.")
    agent = CodeAgent(tools=[shout], model=model, managed_agents=[helper], **keywords)
    agent.save(folder)
    return folder


def test_saved_agent_runs_with_its_tools_and_returns_a_typed_answer(
    on_host: Any, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "agent")
    model = Script(code("final_answer({'said': shout('hi'), 'n': 6 * 7})"))
    box = on_host(model)
    assert box.run_agent(folder, "say hi", max_steps=3) == {"said": "HI", "n": 42}
    assert "say hi" in str(model.seen[0][0])


def test_saved_agent_runs_beside_the_event_loop(on_host: Any, tmp_path: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    class Waiting(Script):
        def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
            asked.set()
            assert released.wait(100), "the event loop was blocked"
            return super().generate(messages, **arguments)

    box = on_host(Waiting(code("final_answer(shout('hi'))")))

    async def main() -> Any:
        folder = saved(tmp_path / "agent")
        running = asyncio.ensure_future(box.arun_agent(folder, "say hi", max_steps=3))
        while not asked.is_set() and not running.done():
            await asyncio.sleep(0.01)
        released.set()
        return await running

    assert asyncio.run(main()) == "HI"


def test_saved_agent_without_an_answer_that_can_travel_says_so(
    on_host: Any, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "agent", additional_authorized_imports=["threading"])
    model = Script(code("import threading\nfinal_answer(threading.Lock())"))
    box = on_host(model)
    with pytest.raises(AgentProgramError, match="the agent's answer: "):
        box.run_agent(folder, "lock")


def test_folder_without_an_agent_is_refused(box: AgentSandbox, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"has no agent\.json: name one that agent\.save"):
        box.run_agent(tmp_path, "task")


# -- isolation and limits --


def test_programs_are_not_root_have_no_capabilities_and_gain_no_privileges(
    box: AgentSandbox,
) -> None:
    output = box.run_code(
        "import os, re\n"
        "status = open('/proc/self/status').read()\n"
        "print(os.getuid(), re.findall(r'Cap(?:Eff|Prm|Bnd):\\t(\\w+)', status),"
        " re.search(r'NoNewPrivs:\\t(\\d)', status)[1])\n"
        "try: open('/opt/kernel/x', 'w')\n"
        "except OSError as error: print(type(error).__name__)"
    )
    zeros = "0" * 16
    assert output.splitlines()[0] == f"1000 ['{zeros}', '{zeros}', '{zeros}'] 1"
    assert output.splitlines()[1] in ("OSError", "PermissionError")


def test_program_over_the_memory_limit_is_killed_and_the_sandbox_stays(box: AgentSandbox) -> None:
    with pytest.raises(AgentProgramError, match=r"SIGKILL.*raise memory=") as found:
        box.run_code("x = bytearray(900 * 1024 * 1024)")
    assert found.value.exit_code == -9
    assert box.run_code("print('next')") == "next\n"


def test_fork_bomb_meets_the_limit_and_is_gone_for_the_next_program(box: AgentSandbox) -> None:
    bomb = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        made += 1
except OSError:
    print("stopped", made < 100)
"""
    assert box.run_code(bomb).splitlines()[-1] == "stopped True"
    left = "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))"
    assert int(box.run_code(left)) < 10


def test_program_past_its_time_is_killed_with_all_its_processes(box: AgentSandbox) -> None:
    program = """
import subprocess, time
print("begun", flush=True)
subprocess.Popen(["sleep", "600"], start_new_session=True)
while True: pass
"""
    with pytest.raises(SandboxTimeoutError, match=r"(?s)timeout_seconds=10.*begun"):
        box.run_code(program, timeout_seconds=10)
    assert box.run_code("print('next')", timeout_seconds=60) == "next\n"
    running = (
        "import glob\nnames = [open(path).read() for path in glob.glob('/proc/[0-9]*/comm')]\n"
        "print('sleep\\n' in names)"
    )
    assert box.run_code(running) == "False\n"


# -- output, errors, end --


def test_output_of_both_streams_arrives_while_the_program_runs(
    box: AgentSandbox, box_output: Any
) -> None:
    printed = PrintedLine()
    program = (
        "import sys, os\nprint('begin \N{EURO SIGN}')\n"
        "while not os.path.exists('/workspace/go'): pass\n"
        "print('end', file=sys.stderr)"
    )
    with (
        mock.patch.object(box_output, "current", printed),
        running(box.run_code, program) as run,
    ):
        run.until(printed.is_set)
        assert printed.text == "begin \N{EURO SIGN}\n"
        box.put_file(b"", "go")
        assert run.result() == "begin \N{EURO SIGN}\nend\n"


def test_long_output_keeps_both_ends() -> None:
    note = "\n..._This content has been truncated to stay below {} characters_...\n"
    with AgentSandbox(max_print_outputs_length=1000, **START) as box:
        output = box.run_code("print('a' * 10); print('x' * 5_000_000); print('z' * 10)")
        with pytest.raises(AgentProgramError) as found:
            box.run_code("print('x' * 5_000_000); raise SystemExit(1)")
    assert output == (
        "a" * 10 + "\n" + "x" * 489 + note.format(1000) + "x" * 488 + "\n" + "z" * 10 + "\n"
    )
    assert found.value.output == "x" * 500 + note.format(1000) + "x" * 499 + "\n"


def test_failed_program_raises_with_exit_code_and_traceback(box: AgentSandbox) -> None:
    with pytest.raises(AgentProgramError) as found:
        box.run_code("print('before')\nraise KeyError('missing')")
    assert found.value.exit_code == 1
    assert str(found.value).startswith("the program ended with exit code 1; its output ended with:")
    assert found.value.output.startswith("before\nTraceback (most recent call last):")
    assert "program_main" not in found.value.output
    with pytest.raises(AgentProgramError, match="exit code 7; it printed nothing"):
        box.run_code("import sys; sys.exit(7)")


def test_user_has_a_name(box: AgentSandbox) -> None:
    program = (
        "import getpass, grp, os, pwd\n"
        "names = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name\n"
        "print(getpass.getuser(), *names, os.path.expanduser('~'))"
    )
    assert box.run_code(program) == "sandbox sandbox sandbox /workspace\n"


def test_files_stay_between_programs(box: AgentSandbox) -> None:
    box.put_file(b"data", "in.txt")
    box.run_code("open('out.txt', 'w').write(open('in.txt').read() * 2)")
    assert box.get_file("out.txt") == b"datadata"
    assert ("out.txt", 8) in [(one.path, one.size) for one in box.list_files()]


def test_supervisor_keeps_nothing_of_programs_that_have_ended(box: AgentSandbox) -> None:
    count = (
        "import os, re\nparent = os.getppid()\n"
        "threads = re.search(r'Threads:\\s+(\\d+)', open(f'/proc/{parent}/status').read())[1]\n"
        "processes = sum(name.isdigit() for name in os.listdir('/proc'))\n"
        "print(len(os.listdir(f'/proc/{parent}/fd')), threads, processes)"
    )
    box.run_code("print('x')")  # the first one has the kernel open a socket
    first = box.run_code(count)
    for _ in range(5):
        box.run_code("import os\nif os.fork() == 0 and os.fork():\n    while True: pass")
    assert box.run_code(count) == first


def test_calls_from_two_threads_take_turns(box: AgentSandbox) -> None:
    code = "import time; time.sleep(0.2); print({})"
    calls = [partial(box.run_code, code.format(number)) for number in range(3)]
    assert at_once(*calls) == ["0\n", "1\n", "2\n"]


COUNT = "import os\nprint(len([name for name in os.listdir('/proc') if name.isdigit()]))"


def test_asyncio_programs_take_turns_and_end_with_their_task(
    box: AgentSandbox, box_output: Any
) -> None:
    printed = PrintedLine()

    async def main() -> str:
        running = asyncio.ensure_future(box.arun_code("print('seen')\nwhile True: pass"))
        while not printed.is_set():
            await asyncio.sleep(0.01)
        never = asyncio.ensure_future(box.arun_code("open('never', 'w').close()"))
        following = asyncio.ensure_future(box.arun_code(COUNT))
        await asyncio.sleep(0.1)
        never.cancel()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return await following

    with mock.patch.object(box_output, "current", printed):
        assert asyncio.run(main()) == box.run_code(COUNT)
    assert box.run_code("import os\nprint(os.path.exists('never'))") == "False\n"


def test_interrupted_program_is_an_error_with_its_output(
    box: AgentSandbox, box_output: Any
) -> None:
    printed = PrintedLine()
    with (
        mock.patch.object(box_output, "current", printed),
        acting(printed.is_set, box.interrupt),
        pytest.raises(AgentProgramError, match=r"interrupted; .*the sandbox's files stay") as error,
    ):
        box.run_code("print('seen')\nwhile True: pass")
    assert (error.value.exit_code, error.value.output) == (-9, "seen\n")
    assert box.run_code("print(1)") == "1\n"


def test_program_that_ends_the_supervisor_ends_the_sandbox_with_the_reason() -> None:
    with AgentSandbox(**START) as box:
        with pytest.raises(SandboxDiedError, match="sandbox ended") as caught:
            box.run_code("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)")
        # Of the executor's next call, which an agent sandbox does not have.
        assert "on_death" not in str(caught.value)
        with pytest.raises(SandboxDiedError, match="make a new AgentSandbox"):
            box.run_code("print(1)")


def test_cleanup_from_another_thread_ends_a_running_program(engine: Any) -> None:
    printed = PrintedLine()
    box = AgentSandbox(on_output=printed, **START)
    name = box.container.name
    with acting(printed.is_set, box.cleanup), pytest.raises(ExecutorClosedError):
        box.run_code("print('seen')\nimport time; time.sleep(600)")
    box.cleanup()
    with pytest.raises(ExecutorClosedError, match="run_code after"):
        box.run_code("1")
    assert eventually(lambda: not engine.api.containers(all=True, filters={"name": name}))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"secrets": {"A": 1}}, r"secrets\['A'\]: pass Secret"),
        ({"secrets": {"A=B": "x"}}, "secrets: 'A=B' is not a variable name"),
        ({"model_on_host": "gpt"}, "model_on_host='gpt': pass a model"),
        ({"memori": "1g"}, "AgentSandbox has no parameter 'memori'; did you mean 'memory'"),
        ({"timeout_seconds": 0}, "timeout_seconds=0: pass"),
        ({"max_print_outputs_length": 0}, "max_print_outputs_length=0: pass a whole number above"),
        ({"requirements": "ddgs"}, "requirements='ddgs': pass a list"),
        ({"user": "root"}, "user='root' is root"),
    ],
)
def test_bad_argument_is_refused_before_anything_starts(
    keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        AgentSandbox(**keywords)

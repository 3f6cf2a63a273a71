"""Output without end, and output that is none: bounded memory, a marker, a prompt return."""

from __future__ import annotations

import base64
import contextlib
import io
import re

import PIL.Image
import pytest
from docker_measuring import peak_memory
from smolagents.utils import AgentError

LIMIT = 100_000
NOTE = f"\n..._This content has been truncated to stay below {LIMIT} characters_...\n"
MIB = 1 << 20


@pytest.fixture(scope="module")
def bounded(image):
    from smolagents_fork.executors.docker import DockerExecutor

    with DockerExecutor(timeout_seconds=300, max_print_outputs_length=LIMIT) as executor:
        yield executor


def test_the_measure_sees_what_is_held():
    with peak_memory() as peak:
        held = bytearray(50 * MIB)
        held[::4096] = bytes(len(held[::4096]))
        del held
    assert peak.bytes > 45 * MIB


# Past the kernel's own bound, which the program undoes: the host has one, too.
UNBOUNDED = (
    "import sys\n"
    "OutStream = type(sys.stdout)\n"
    "for _ in range(100_000_000 // {piece}):\n"
    "    OutStream.write.__wrapped__(sys.stdout, 'y' * {piece})\n"
    "    OutStream.flush.__wrapped__(sys.stdout)\n"
)
#: Code that prints a hundred megabytes, and megabytes that they may take here.
FLOODS = {
    "one call": ("print('x' * 100_000_000)\n", 30),
    "messages too large to be received": (UNBOUNDED.format(piece=1_000_000), 30),
    "many messages": (UNBOUNDED.format(piece=100_000), 30),
    # Not through Python's streams: a child process writes to the kernel's file descriptor.
    "a child": (
        "import subprocess\n"
        "subprocess.run(['head', '-c', '100000000', '/dev/zero'], stdout=1, check=True)\n",
        60,
    ),
}


@pytest.mark.parametrize("way", FLOODS)
def test_hundred_megabytes_take_little_memory_and_are_marked(bounded, way):
    code, megabytes = FLOODS[way]
    with peak_memory() as peak:
        result = bounded(f"{code}'end'")
    assert result.output == "end"
    assert len(result.logs) < LIMIT + 200
    assert NOTE in result.logs
    assert peak.bytes < megabytes * MIB
    assert bounded.run("print('y' * 200_000)").logs_cut_chars == 200_001 - LIMIT


def test_message_over_the_limit_is_read_past(make):
    executor = make(max_value_bytes=1_000_000, max_print_outputs_length=1000)
    code = (
        "import sys\n"
        "OutStream = type(sys.stdout)\n"
        "OutStream.write.__wrapped__(sys.stdout, 'z' * 40_000_000)\n"
        "OutStream.flush.__wrapped__(sys.stdout)\n"
        "'end'"
    )
    with peak_memory() as peak:
        result = executor(code)
    assert result.output == "end"
    assert result.logs == NOTE.replace(str(LIMIT), "1000")
    assert peak.bytes < 15 * MIB


def test_binary_rubbish_from_a_program(bounded):
    result = bounded("import os\nos.system(\"printf '\\\\377\\\\000\\\\001rubbish\\\\n'\")")
    assert "rubbish" in result.logs
    code = "import os, sys\nsys.stdout.flush()\nos.write(1, bytes(range(256)) * 1000)\n'end'"
    with peak_memory() as peak:
        result = bounded(code)
    assert result.output == "end"
    assert "0123456789" in result.logs
    assert peak.bytes < 30 * MIB


def test_output_of_other_processes_belongs_to_the_call_that_started_them(bounded):
    # They write into a pipe that a thread of the kernel's reads in its own time.
    for number in range(20):
        result = bounded(f"import os\nos.system('echo out {number}; echo err {number} >&2')\n")
        assert sorted(result.logs.split("\n")) == ["", f"err {number}", f"out {number}"]
    for number in range(20):
        assert bounded(f"{number}").logs == ""


def test_characters_of_other_processes_are_not_split(bounded):
    code = (
        "import os, time\n"
        "for byte in 'ä€😀\\n'.encode():\n"
        "    os.write(1, bytes([byte]))\n"
        "    time.sleep(0.05)"
    )
    assert bounded(code).logs == "ä€😀\n"


def test_endless_writer_delays_no_print(bounded):
    # Each print that waited for the end of the other output would take five seconds.
    code = (
        "import subprocess, time\n"
        "with subprocess.Popen(['yes'], stdout=1) as writer:\n"
        "    time.sleep(0.5)\n"
        "    for number in range(70): print(number)\n"
        "    writer.kill()\n"
        "number"
    )
    assert bounded(code).output == 69


def test_displays_of_threads_hide_no_error(bounded):
    program = """
import threading
class Slow:
    def __init__(self):
        self.begun, self.end = threading.Event(), threading.Event()
    def _repr_html_(self):
        self.begun.set()
        self.end.wait()
        return "slow"
values = [Slow(), Slow()]
threads = [threading.Thread(target=display, args=[value]) for value in values]
for value, thread in zip(values, threads):
    thread.start()
    value.begun.wait()
for value, thread in zip(values, threads):
    value.end.set()
    thread.join()
1 / 0
"""
    with pytest.raises(AgentError, match="ZeroDivisionError: division by zero"):
        bounded(program)
    assert [display.value for display in bounded.displays] == ["slow", "slow"]


def test_program_that_breaks_the_kernels_side_harms_itself_only(make):
    executor = make(timeout_seconds=2, interrupt_grace_seconds=0.2)
    executor.send_variables({"given": 1})
    code = (
        "import builtins, sys\n"
        "builtins.__smolagents_fork__.__dict__.clear()\n"
        "sys.stdout = sys.stderr = None\n"
        "del builtins.__smolagents_fork__\n"
    )
    with contextlib.suppress(Exception):
        executor(code)
    with contextlib.suppress(Exception):
        executor("1 + 1")
    executor.restart()
    assert executor("given + 1").output == 2


@pytest.mark.parametrize(
    "data",
    [
        "b'not the codec'",
        "b''",
        "b'[' * 100000",
        'b\'{"$":"nothing"}\'',
        "bytes(1000)",
        "codec.encode(5)[:-1]",
        "codec.encode('x' * 1000) + b'more'",
    ],
)
def test_forged_value_is_a_note_and_no_value(bounded, data):
    code = (
        "import sys\ncodec = sys.modules['smolagents_fork_codec']\n"
        "__smolagents_fork__.publish({{'kind': 'value'}}, [{}])"
    )
    result = bounded(code.format(data))
    assert result.output is None
    assert "the result could not be decoded" in result.logs
    assert not result.is_final_answer
    # What is no forgery arrives in the same way: the road that is refused above exists.
    result = bounded(code.format("codec.encode([1, 'two'])"))
    assert (result.output, result.logs) == ([1, "two"], "")


def test_jpeg_of_a_forged_message_is_not_decoded(bounded):
    target = io.BytesIO()
    PIL.Image.new("RGB", (30, 20)).save(target, "JPEG", progressive=True)
    form = base64.b64encode(target.getvalue()).decode()
    # Around the kernel's side, which would have opened it.
    code = (
        "from IPython import get_ipython\n"
        "hook = get_ipython().displayhook\n"
        f"forms = {{'image/jpeg': {form!r}}}\n"
        "for data in (forms, {**forms, 'image/png': forms['image/jpeg'], 'text/plain': 'words'}):\n"
        "    hook.session.send(\n"
        "        hook.pub_socket, 'display_data', {'data': data}, parent=hook.parent_header)\n"
    )
    bounded(code)
    assert [(one.mime_type, one.value, one.is_figure) for one in bounded.displays] == [
        ("image/jpeg", form, False),
        ("text/plain", "words", False),
    ]


def test_forged_messages_are_ignored(bounded):
    code = (
        "from IPython import get_ipython\n"
        "hook = get_ipython().displayhook\n"
        "for kind, content in [\n"
        "    ('status', {'execution_state': 7}), ('stream', {'text': 5}), ('stream', {}),\n"
        "    ('display_data', {'data': 3}), ('comm_msg', {'data': []}), ('error', {}),\n"
        "    ('comm_msg', {'comm_id': __smolagents_fork__.comm_id, 'data': {'kind': []}}),\n"
        "    ('display_data', {'data': {'image/png': 'bm90IGEgcG5n'}}),\n"
        "]:\n"
        "    hook.session.send(hook.pub_socket, kind, content, parent=hook.parent_header)\n"
        "'end'"
    )
    with contextlib.suppress(AgentError):  # the forged error is the program's own
        assert bounded(code).output == "end"
    assert bounded("1").output == 1


def test_pictures_without_end_are_bounded(make):
    # Each is a few KB, and 16 MB unpacked.
    executor = make(max_value_bytes=60_000_000)
    code = (
        "import base64, struct, zlib\n"
        "from IPython.display import display\n"
        "def chunk(kind, data):\n"
        "    return (struct.pack('>I', len(data)) + kind + data\n"
        "            + struct.pack('>I', zlib.crc32(kind + data)))\n"
        "rows = zlib.compress(bytes(4000 * 4001))\n"
        "png = (b'\\x89PNG\\r\\n\\x1a\\n'\n"
        "       + chunk(b'IHDR', struct.pack('>IIBBBBB', 4000, 4000, 8, 0, 0, 0, 0))\n"
        "       + chunk(b'IDAT', rows) + chunk(b'IEND', b''))\n"
        "text = base64.b64encode(png).decode()\n"
        "for _ in range(30): display({'image/png': text}, raw=True)\n"
    )
    with peak_memory() as peak:
        result = executor(code)
    assert 1 <= len(executor.displays) < 30
    assert executor.displays[0].value.size == (4000, 4000)
    assert f"[{30 - len(executor.displays)} displays dropped" in result.logs
    assert peak.bytes < 250_000_000
    assert executor("'next'").output == "next"


def test_frames_of_earlier_programs_have_other_numbers(bounded):
    bounded("def fail():\n    1 / 0")
    with pytest.raises(AgentError) as caught:
        bounded("2\nfail()")
    frames = re.findall(r"In\[(\d+)\], line (\d)", str(caught.value))
    assert [line for _, line in frames] == ["2", "2"]
    assert int(frames[0][0]) == int(frames[1][0]) + 1

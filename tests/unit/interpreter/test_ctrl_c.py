"""Ctrl-C ends the host's call; what a program raises in its name is the program's failure."""

from __future__ import annotations

import signal
import sys

import pytest
from background import run_python

from smolagents_fork.errors import ProgramFailedError
from smolagents_fork.interpreter.guarded import Interpreter

HEAD = """
import os, signal, sys, threading, time
# A shell starts what it puts into the background with SIGINT ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
ours = Interpreter(["asyncio", "contextlib", "threading"], limits=RunLimits(
    timeout_seconds=40, max_operations=10**12, max_while_iterations=10**12))
def begun():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
def inner():
    begun()
    return Interpreter(limits=ours.limits).run("while True: pass").output
def work():
    begun()
    time.sleep(30)
ours.send_tools({"begun": begun, "inner": inner, "work": work})
for code in sys.argv[1:]:
    try:
        ours.run(code)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except BaseException as error:
        print(code, type(error).__name__, error, flush=True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(ours.run("1 + 1").output, flush=True)
os._exit(0)
"""
ENDLESS = (
    "begun()\nwhile True: pass",
    "begun()\nfor i in range(10**12): str(i)",
    "import time\nbegun()\ntime.sleep(30)",
    "import asyncio\nbegun()\nawait asyncio.sleep(30)",
    "begun()\ntry:\n    while True: pass\nfinally:\n    x = 1",
    "work()",
    "inner()",
)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill sends no SIGINT on Windows")
def test_a_real_ctrl_c_ends_the_hosts_call() -> None:
    assert run_python(HEAD, *ENDLESS, timeout=55) == "interrupted\n2\n" * len(ENDLESS)


RAISED = ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "BaseException"]
PLACES = {
    "in C code": "def key(x): raise {error}('stop')\nsorted([1, 2], key=key)",
    "derived": "class E({error}): pass\nraise E('stop')",
    "in a coroutine": "async def f(): raise {error}('stop')\nawait f()",
}


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_a_program_raises_is_its_own_failure(place: str, error: str) -> None:
    interpreter = Interpreter()
    with pytest.raises(ProgramFailedError, match="stop") as caught:
        interpreter.run(place.format(error=error))
    assert type(caught.value) is ProgramFailedError
    assert isinstance(caught.value.__cause__, BaseException)
    assert interpreter.run("1 + 1").output == 2


METHODS = ["__str__", "__repr__", "__getattribute__", "__getattr__", "__eq__", "__hash__"]
PROPERTIES = ["__class__", "__traceback__", "__cause__", "__context__", "__suppress_context__",
              "__notes__", "__dict__", "args", "name"]  # fmt: skip


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize("member", [*METHODS, *PROPERTIES])
def test_an_exception_whose_members_raise_does_no_harm(member: str, error: str) -> None:
    decorator = "    @property\n" if member in PROPERTIES else ""
    code = (
        f"class E(Exception):\n{decorator}    def {member}(self, *a): raise {error}('stop')\n"
        "raise E('x')"
    )
    interpreter = Interpreter()
    kind: type[BaseException] | None = None
    try:
        interpreter.run(code)
    except BaseException as caught:
        # The type alone: pytest would read the members in its report.
        kind = type(caught)
    assert kind is ProgramFailedError
    assert interpreter.run("1 + 1").output == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_a_tool_raises_is_an_error_of_the_program(error: type[BaseException]) -> None:
    def tool() -> None:
        raise error("stop")

    interpreter = Interpreter()
    interpreter.send_tools({"tool": tool})
    with pytest.raises(ProgramFailedError, match=f"{error.__name__}: stop"):
        interpreter.run("tool()")


def test_the_handler_of_the_host_stays() -> None:
    seen: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        interpreter = Interpreter()
        interpreter.send_tools({"look": lambda: seen.append(signal.getsignal(signal.SIGINT))})
        handler = signal.getsignal(signal.SIGINT)
        interpreter.run("look()")
        assert seen == [handler]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)

"""What Python says on stderr about a program's leavings is in the program's logs, or nowhere."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

HEAD = """
import gc, sys, warnings
from smolagents_fork.interpreter import Interpreter, Limits
ours = Interpreter(["asyncio", "warnings", "threading"], limits=Limits(timeout_seconds=5))
def logs(code):
    try:
        return ours.run(code).logs
    except Exception as error:
        return ours.output.value
"""


def host(code: str) -> tuple[str, str]:
    """Run ``code`` as a host of its own: the hooks are the process's, and pytest has its own."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(code)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_words_of_the_program_are_in_its_logs() -> None:
    out, err = host(
        """
        print(logs("async def f(): pass\\nf()\\n1"))
        print(logs("class D:\\n    def __del__(self): 1 / 0\\nD()\\n1"))
        print(logs("def g():\\n    try: yield\\n    finally: [][0]\\nx = g(); next(x); del x"))
        print(logs("import warnings\\nwarnings.warn('look')"))
        print(logs("import threading, warnings\\nt = threading.Thread(target=warnings.warn, "
                   "args=('thread',))\\nt.start(); t.join()"))
        """
    )
    assert "coroutine 'f' was never awaited" in out
    assert "Exception ignored in: <function D.__del__" in out
    assert "ZeroDivisionError: division by zero" in out
    assert "Exception ignored in: <generator object g" in out
    assert "IndexError: list index out of range" in out
    assert "UserWarning: look\n  warnings.warn('look')" in out
    assert err == ""


def test_leavings_that_are_collected_later_are_not_the_hosts_business() -> None:
    out, err = host(
        """
        logs("async def f(): pass\\nx = f()\\nclass D:\\n    def __del__(self): 1 / 0\\nd = D()")
        ours.state.clear()
        gc.collect()
        logs("async def f(): pass\\nx = f()\\nclass D:\\n    def __del__(self): 1 / 0\\nd = D()")
        other = Interpreter()
        other.send_variables({"mine": ours.state.pop("x"), "also": ours.state.pop("d")})
        print([other.run("del mine, also").logs])
        print("died", [logs("class E:\\n    def __del__(self):\\n        while True: pass\\nE()")])
        """
    )
    assert out.startswith("['']\n")
    assert err == ""


def test_the_hosts_own_words_stay_the_hosts() -> None:
    _out, err = host(
        """
        class Host:
            def __del__(self): raise KeyError("the host's")
        async def hosts(): pass
        ours.send_tools({"tool": lambda: (Host(), hosts(), warnings.warn("from a tool")) and None})
        assert logs("tool()") == ""
        told = []
        sys.unraisablehook = told.append
        ours.run("1")
        Host()
        assert len(told) == 1, told
        assert warnings.showwarning.__module__ == "warnings"
        """
    )
    assert 'KeyError: "the host\'s"' in err
    assert "coroutine 'hosts' was never awaited" in err
    assert "UserWarning: from a tool" in err


def test_a_hook_that_fails_takes_nothing_down() -> None:
    from smolagents_fork.interpreter import Interpreter

    code = (
        "class E(Exception):\n    def __str__(self): raise ValueError\n"
        "class D:\n    def __del__(self): raise E\nD()\n'on'"
    )
    assert Interpreter().run(code).output == "on"
    gc.collect()

"""Programs mean the same in `process`, `docker` and `wasm`: ordinary Python in its main module."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour
from contract_parts import read_programs

from smolagents_fork.errors import InterpreterError

ORDINARY, PACKAGES = read_programs("ordinary"), read_programs("packages")


@behaviour("Python", "Code is ordinary Python, in a real main module: a list of programs.")
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs(contract, name):
    if contract.differs:
        return
    executor = contract.ordinary
    names = executor("[name for name in globals() if not name.startswith('_')]").output
    executor.remove_variables(names)
    output = executor(ORDINARY[name]).output
    assert output is True, output


@behaviour("Python", "Output of C code is in the logs, in order with printed text.")
def test_output_of_code_in_c(contract):
    if contract.differs:
        return
    executor = contract.ordinary
    code = (
        "import os, sys\nprint('one')\nos.write(1, b'two\\n')\nprint('three', file=sys.stderr)\n"
        "os.write(2, b'four\\n')\nsys.stdout.write('five\\n')\nos.write(1, b'six\\n')\nNone"
    )
    assert executor(code).logs.split() == ["one", "two", "three", "four", "five", "six"]


@behaviour("Python", "A program may write bytes to its standard output, and set its encoding.")
def test_bytes_on_standard_output(contract):
    executor = contract.ordinary
    code = (
        "import sys\nsys.stdout.reconfigure(encoding='utf-8')\n"
        "print('one')\ncount = sys.stdout.buffer.write(b'tw\\xc3')\n"
        "count += sys.stdout.buffer.write(bytearray(b'\\xb6\\n'))\nsys.stdout.buffer.flush()\n"
        "print('three')\ncount"
    )
    result = executor(code)
    assert (result.output, result.logs) == (5, "one\ntwö\nthree\n")


@behaviour("Python", "A program may replace its standard output, temporarily or until it ends.")
def test_replaced_standard_output(contract):
    if contract.differs:
        return
    executor = contract.ordinary
    code = (
        "import contextlib, io, sys\nwith contextlib.redirect_stdout(io.StringIO()) as text:\n"
        "    print('kept')\nbefore, sys.stdout = sys.stdout, io.StringIO()\nprint('also kept')\n"
        "found = sys.stdout.getvalue()\nsys.stdout = before\nprint('shown')\n"
        "(text.getvalue(), found)"
    )
    result = executor(code)
    assert (result.output, result.logs) == (("kept\n", "also kept\n"), "shown\n")
    code = "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('wräpped')"
    assert executor(code).logs == "wräpped\n"
    assert executor("print('later')").logs == "later\n"
    executor(
        "class Loud:\n    def write(self, text):\n        before.write(text.upper())\n"
        "before, sys.stdout = sys.stderr, Loud()"
    )
    assert executor("print('without flush')").logs == "WITHOUT FLUSH\n"


@behaviour("Python", "Threads that outlive their run are named in its logs, and continue.")
def test_threads_left_over(contract):
    if contract.differs:
        return
    executor = contract.make(("threading", "time"))
    if contract.kind.name == "wasm":
        with pytest.raises(Exception, match="can't start new thread"):
            executor("import threading\nthreading.Thread(target=print).start()")
        return
    code = (
        "import threading, time\nticks = []\ndef poll():\n    while True:\n"
        "        ticks.append(1)\n        time.sleep(0.01)\n"
        "threading.Thread(target=poll, name='poller', daemon=True).start()\nNone"
    )
    assert executor(code).logs == (
        "[threads still running: 'poller'; they end with the executor]\n"
    )
    later = "before = len(ticks)\ntime.sleep(0.2)\nlen(ticks) > before"
    result = executor(later)
    assert (result.output, result.logs) == (True, "")


@behaviour("Python", "A pydantic model can be defined and used.")
def test_models_of_pydantic(contract):
    if not contract.without_wheels("pydantic", "pydantic"):
        assert contract.packaged(PACKAGES["pydantic"]).output is True


@behaviour("Python", "attrs classes with slots can be defined and used.")
def test_classes_of_attrs(contract):
    assert contract.packaged(PACKAGES["attrs"]).output is True


@behaviour("Python", "numba compiles a function of the program.")
def test_functions_of_numba(contract):
    if contract.kind.name == "wasm":
        contract.without_wheels("numba", "numba")
    elif contract.differs:
        with pytest.raises(InterpreterError, match="TypingError: Failed in nopython mode"):
            contract.packaged(PACKAGES["numba"])
    else:
        assert contract.packaged(PACKAGES["numba"]).output is True


@behaviour("Python", "Code starts processes with `multiprocessing`.")
def test_processes_of_multiprocessing(contract):
    if contract.differs and contract.kind.name == "local":
        return
    executor = contract.make(["multiprocessing", "os"])
    code = (
        "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n"
        "    found = pool.map(abs, [-1, 2])\nfound"
    )
    of_shell = "import os\nos.system('exit 3') >> 8"
    if contract.differs:
        for refused in (code, of_shell):
            with pytest.raises(InterpreterError, match="The sandbox starts no processes and"):
                executor(refused)
    else:
        assert executor(code).output == [1, 2]
        assert executor(of_shell).output == 3

"""Programs mean the same in `process`, `docker` and `wasm`: ordinary Python in its main module."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour

#: Programs that end with the value True, by what they are about.
PROGRAMS = {
    "pickle of its own classes": (
        "import pickle\nclass Point:\n    def __init__(self, x): self.x = x\n"
        "pickle.loads(pickle.dumps(Point(3))).x == 3"
    ),
    "dataclasses under text annotations": (
        "from __future__ import annotations\n"
        "from dataclasses import InitVar, KW_ONLY, dataclass, field, fields\n"
        "from typing import ClassVar\n"
        "@dataclass\nclass Part:\n"
        "    kind: ClassVar[str] = 'part'\n    size: int\n    scale: InitVar[int]\n"
        "    _: KW_ONLY\n    names: list[str] = field(default_factory=list)\n"
        "    def __post_init__(self, scale): self.size *= scale\n"
        "part = Part(2, 3, names=['a'])\n"
        "(part.size, [f.name for f in fields(part)], part.names) == (6, ['size', 'names'], ['a'])"
    ),
    "type hints": (
        "from __future__ import annotations\nimport typing\n"
        "class Node:\n    next: Node | None = None\n"
        "typing.get_type_hints(Node)['next'] == (Node | None)"
    ),
    "source of functions": (
        "import inspect\ndef double(x):\n    return 2 * x\n"
        "inspect.getsource(double) == 'def double(x):\\n    return 2 * x\\n'"
    ),
    "lines of a traceback": (
        "import traceback\ntry:\n    [][3]\nexcept IndexError:\n    text = traceback.format_exc()\n"
        "'[][3]' in text"
    ),
    "lines of functions": (
        "import linecache\ndef double(x):\n    return 2 * x\n"
        "linecache.getline(double.__code__.co_filename, 3).strip() == 'return 2 * x'"
    ),
    "structures of ctypes": (
        "import ctypes\nclass Pair(ctypes.Structure):\n"
        "    _fields_ = [('a', ctypes.c_int), ('b', ctypes.c_int)]\n"
        "(Pair(1, 2).b, ctypes.sizeof(Pair)) == (2, 8)"
    ),
    "private names, namespaces and other classes": (
        "from collections import namedtuple\nRow = namedtuple('Row', 'a 1', rename=True)\n"
        "class A: pass\nclass B: pass\nx = A()\nx.__class__ = B\nx.y = eval('40 + 2')\n"
        "(Row(1, 2)._1, x.__dict__, type(x), globals()['A']) == (2, {'y': 42}, B, A)"
    ),
    "its main module": "import sys\nkept = 5\nsys.modules['__main__'].kept == 5",
    "changed members of modules": (
        "import types\ncounting = types.ModuleType('counting')\n"
        "code = 'counter = 0\\ndef inc():\\n    global counter\\n    counter += 1'\n"
        "exec(code, counting.__dict__)\ncounting.inc()\ncounting.counter == 1"
    ),
    "counts of operations": (
        "total = 0\nfor a in range(1200):\n    for b in range(1200):\n        total += a * b\n"
        "n = 0\nwhile n < 1_200_000: n += 1\n(total, n) == (719_400**2, 1_200_000)"
    ),
    "declarations": "if True:\n    global declared\ndeclared = 3\ndeclared == 3",
    "finalizers": (
        "import gc\nseen = []\nclass Last:\n    def __del__(self): seen.append(1)\n"
        "Last()\ngc.collect()\nseen == [1]"
    ),
}
IMPORTS = (
    *("collections", "ctypes", "dataclasses", "gc", "inspect", "io", "linecache"),
    *("os", "pickle", "sys", "traceback", "types", "typing"),
)


@behaviour("Python", "Code is ordinary Python, in a real main module: a list of programs.")
@pytest.mark.parametrize("name", PROGRAMS)
def test_ordinary_programs(contract, name):
    if contract.differs:
        return
    executor = contract.make(IMPORTS)
    output = executor(PROGRAMS[name]).output
    assert output is True, output


@behaviour("Python", "What code in C writes is in the logs, in order with printed text.")
def test_output_of_code_in_c(contract):
    if contract.differs:
        return
    executor = contract.make(IMPORTS)
    code = (
        "import os, sys\nprint('one')\nos.write(1, b'two\\n')\nprint('three', file=sys.stderr)\n"
        "os.write(2, b'four\\n')\nsys.stdout.write('five\\n')\nos.write(1, b'six\\n')\nNone"
    )
    assert executor(code).logs.split() == ["one", "two", "three", "four", "five", "six"]


@behaviour("Python", "A program may replace its standard output, for a while or until it ends.")
def test_replaced_standard_output(contract):
    if contract.differs:
        return
    executor = contract.make((*IMPORTS, "contextlib"))
    code = (
        "import contextlib, io, sys\nwith contextlib.redirect_stdout(io.StringIO()) as text:\n"
        "    print('kept')\nbefore, sys.stdout = sys.stdout, io.StringIO()\nprint('also kept')\n"
        "found = sys.stdout.getvalue()\nsys.stdout = before\nprint('shown')\n"
        "(text.getvalue(), found)"
    )
    result = executor(code)
    assert (result.output, result.logs) == (("kept\n", "also kept\n"), "shown\n")


@behaviour("Python", "Threads that outlive their run are named in its logs, and run on.")
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

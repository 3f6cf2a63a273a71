"""Programs mean the same in `process`, `docker` and `wasm`: ordinary Python in its main module."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour

from smolagents_fork.errors import InterpreterError

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
    "its arguments, which are none": (
        "import argparse\nargparse.ArgumentParser().parse_args() == argparse.Namespace()"
    ),
    "declarations": "if True:\n    global declared\ndeclared = 3\ndeclared == 3",
    "finalizers": (
        "import gc\nseen = []\nclass Last:\n    def __del__(self): seen.append(1)\n"
        "Last()\ngc.collect()\nseen == [1]"
    ),
}
IMPORTS = (
    *("argparse", "collections", "ctypes", "dataclasses", "gc", "inspect", "io", "linecache"),
    *("os", "pickle", "sys", "traceback", "types", "typing"),
)

MODEL_OF_PYDANTIC = (
    "from pydantic import BaseModel, Field, PrivateAttr, field_validator\n"
    "class Order(BaseModel):\n"
    "    items: list[str] = Field(min_length=1)\n    count: int = 1\n"
    "    _seen: int = PrivateAttr(default=7)\n"
    "    @field_validator('count')\n    @classmethod\n"
    "    def double(cls, value): return 2 * value\n"
    'order = Order.model_validate_json(\'{"items": ["a"], "count": "2"}\')\n'
    "try:\n    Order(items=[])\nexcept ValueError as error:\n    refused = type(error).__name__\n"
    "(order.model_dump(), order._seen, refused) == "
    "({'items': ['a'], 'count': 4}, 7, 'ValidationError')"
)
CLASSES_OF_ATTRS = (
    "import attrs\n@attrs.define\nclass Point:\n"
    "    x: int\n    y: int = attrs.field(default=2, validator=attrs.validators.gt(0))\n"
    "    def moved(self): return attrs.evolve(self, x=self.x + 1)\n"
    "@attrs.define\nclass Named(Point):\n    name: str = 'p'\n"
    "    def moved(self): return super().moved()\n"
    "point = Named(3).moved()\n"
    "(attrs.astuple(point), hasattr(point, '__dict__'), Named.__slots__) == "
    "((4, 2, 'p'), False, ('name',))"
)
FUNCTION_OF_NUMBA = (
    "import numba\n@numba.njit\ndef total(n):\n    result = 0\n    for i in range(n):\n"
    "        result += i * i\n    return result\ntotal(1000) == 332_833_500"
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


@behaviour("Python", "A model of pydantic is defined and used.")
def test_models_of_pydantic(contract):
    if not contract.without_wheels("pydantic", "pydantic"):
        assert contract.packaged(MODEL_OF_PYDANTIC).output is True


@behaviour("Python", "Classes of attrs with slots are defined and used.")
def test_classes_of_attrs(contract):
    assert contract.packaged(CLASSES_OF_ATTRS).output is True


@behaviour("Python", "numba compiles a function of the program.")
def test_functions_of_numba(contract):
    if contract.kind.name == "wasm":
        contract.without_wheels("numba", "numba")
    elif contract.differs:
        with pytest.raises(InterpreterError, match="TypingError: Failed in nopython mode"):
            contract.packaged(FUNCTION_OF_NUMBA)
    else:
        assert contract.packaged(FUNCTION_OF_NUMBA).output is True


@behaviour("Python", "Code starts processes with `multiprocessing`.")
def test_processes_of_multiprocessing(contract):
    if contract.differs and contract.kind.name == "local":
        return
    executor = contract.make(["multiprocessing"])
    code = (
        "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n"
        "    found = pool.map(abs, [-1, 2])\nfound"
    )
    if contract.differs:
        with pytest.raises(InterpreterError, match="The sandbox starts no processes: use a lib"):
            executor(code)
    else:
        assert executor(code).output == [1, 2]

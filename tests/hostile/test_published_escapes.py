"""Published escapes from smolagents' executors, by CVE number.

The programs are our own, after the public descriptions. In `local` each ends in an error and
reaches nothing; in `process` it reaches nothing outside the child.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hostile_harness
import pytest
from hostile_harness import Worker
from hostile_table import Program

from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import DecodeError, ForkError, ProtocolError

if TYPE_CHECKING:
    from process_host import ProcessHost

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the hosts of these tests are Linux"),
    pytest.mark.limit(120),
]

#: CVE-2025-5120 (GHSA-6v92-r5mx-h5fx, upstream's #1375): authorised modules contain unauthorised
#: ones, which attributes and ``getattr`` reach.
CVE_2025_5120 = {
    "a private name of a module": "import random\nrandom._os.system('true')\ntrip()",
    "getattr on a module": (
        "import random\nf = getattr(random, '_os')\ngetattr(f, 'system')('true')\ntrip()"
    ),
    "a name put together": (
        "import random\ng = getattr(random, '_' + 'o' + 's')\ng.popen('id')\ntrip()"
    ),
    "a module in a module": "import queue\nqueue.threading._os.system('true')\ntrip()",
    "a chain of modules": "import statistics\nstatistics.random._os.system('true')\ntrip()",
    "submodules of a package": (
        "import asyncio\nasyncio.base_events.events.subprocess.run('true')\ntrip()"
    ),
    "the loader of a module": "import re\nre.__loader__.load_module('re')\ntrip()",
    "the import system": "import collections\ncollections._sys.modules['hostile_canary'].trip()",
    "imported from it": "from random import _os\n_os.system('true')\ntrip()",
}

#: CVE-2025-9959: attributes with two underscores were refused in code, but not in text formatting
#: and in built-ins that read them.
CVE_2025_9959 = {
    "subclasses of object": (
        "for c in ().__class__.__base__.__subclasses__():\n"
        "    if c.__name__ == 'Popen':\n"
        "        c(['true']).wait()\n"
        "        trip()\n"
        "leak(().__class__.__base__.__subclasses__())"
    ),
    "the text of a format": "print('{0.__class__.__base__.__subclasses__}'.format(()))\nleak(str)\n"
    "x = '{0.__globals__}'.format(search)\nassert x\ntrip()",
    "format of a class": "x = str.format('{0.__globals__[SECRET]}', search)\nprint(x)",
    "format of a mapping": "x = '{f.__globals__}'.format_map({'f': search})\ntrip()",
    "a formatter": (
        "import string\nleak(string.Formatter().get_field('0.__globals__', [search], {})[0])"
    ),
    "getattr": "leak(getattr(search, '__globals__'))",
    "getattr that is mapped": "leak(list(map(getattr, [search], ['__globals__']))[0])",
    "a getter": "import operator\nleak(operator.attrgetter('__globals__')(search))",
}

#: CVE-2026-4963: the fix of CVE-2025-9959 did not cover augmented assignment, assignment, deletion,
#: calls, and ``with``.
CVE_2026_4963 = {
    "augmented read": (
        "class Take:\n"
        "    def __radd__(self, other):\n"
        "        leak(other)\n"
        "        return other\n"
        "search.__globals__ += Take()"
    ),
    "augmented read of a method": (
        "class Take:\n"
        "    def __ror__(self, other):\n"
        "        leak(other.__self__ if hasattr(other, '__self__') else other)\n"
        "        return other\n"
        "type(thing).__subclasses__ |= Take()\nprint.__self__ |= Take()"
    ),
    "assignment": "def f(): pass\ndef g(): return 1\nf.__code__ = g.__code__\nf()\ntrip()",
    "assignment to a tool": "leak.__code__ = (lambda *a: trip()).__code__\nleak(0)\ntrip()",
    "setattr": "def f(): pass\nsetattr(f, '__code__', (lambda: trip()).__code__)\nf()",
    "hasattr": (
        "hasattr(search, '__globals__')\n"
        "leak(search.__getattribute__('__globals__'))"
    ),
    "deletion": "del search.__defaults__\ntrip()",
    "target of a loop": "for search.__defaults__ in [(1, 2)]: pass\ntrip()",
    "target of with": (
        "class Gives:\n"
        "    def __enter__(self): return (1,)\n"
        "    def __exit__(self, *a): pass\n"
        "with Gives() as search.__defaults__: pass\ntrip()"
    ),
    "enter that is not its own": (
        "class Way:\n"
        "    __enter__ = property(lambda self: lambda: search.__globals__)\n"
        "    def __exit__(self, *a): pass\n"
        "with Way() as space: leak(space)"
    ),
    "built-in by its module": (
        "import random\nexec_ = random.__builtins__['exec']\nexec_('x = 1')\ntrip()"
    ),
    "built-in that calls itself so": (
        "def evaluate(): pass\nevaluate.__module__ = 'builtins'\n"
        "leak(evaluate.__globals__)"
    ),
}  # fmt: skip

#: CVE-2025-14931 (ZDI-25-1143, GHSA-q9r5-6hrr-9ph7): data from a sandbox was unpickled.
CVE_2025_14931 = {
    "an answer that reduces": (
        "class Answer:\n"
        "    def __reduce__(self):\n"
        "        return (trip, ('unpickled',))\n"
        "    def __reduce_ex__(self, protocol):\n"
        "        return (trip, ('unpickled',))\n"
        "    def __repr__(self):\n"
        "        return 'an answer'\n"
        "Answer()"
    ),
    "a final answer that reduces": (
        "class Answer:\n"
        "    def __reduce_ex__(self, protocol):\n"
        "        return (trip, ('unpickled',))\n"
        "final_answer([Answer()])"
    ),
}

ESCAPES = {
    f"{number} {name}": code
    for number, programs in {
        "CVE-2025-5120": CVE_2025_5120,
        "CVE-2025-9959": CVE_2025_9959,
        "CVE-2026-4963": CVE_2026_4963,
    }.items()
    for name, code in programs.items()
}
OF_PICKLES = {f"CVE-2025-14931 {name}": code for name, code in CVE_2025_14931.items()}

NUMBERS = sorted({name.partition(" ")[0] for name in [*ESCAPES, *OF_PICKLES]})


def program(name: str, code: str) -> Program:
    ends = "quietly its value is what it gives" if name in OF_PICKLES else ""
    return Program("published", name, code + "\n", Path(__file__), 1, ends=ends)


@pytest.mark.parametrize("name", [*ESCAPES, *OF_PICKLES])
def test_local_holds(name: str, worker: Worker) -> None:
    one = program(name, {**ESCAPES, **OF_PICKLES}[name])
    assert hostile_harness.local_faults(worker, [one]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_process_holds(number: str, host: ProcessHost) -> None:
    named = {**ESCAPES, **OF_PICKLES}.items()
    host.check([program(name, code) for name, code in named if name.startswith(number)])


@pytest.mark.parametrize("name", ESCAPES)
def test_plain_cpython_does_not(name: str, worker: Worker) -> None:
    """Test of the tests: the programs escape in plain CPython."""
    answer = hostile_harness.weak_answers(worker, [program(name, ESCAPES[name])])[0]
    assert answer["reached"], answer


class Evil:
    """Object from a rogue sandbox: unpickled, it runs a command on the host."""

    def __reduce__(self) -> Any:
        return os.putenv, ("HOSTILE_PICKLE", "1")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_cve_2025_14931_codec_takes_no_pickle(protocol: int) -> None:
    with pytest.raises(DecodeError):
        decode(pickle.dumps(Evil(), protocol))


def test_cve_2025_14931_codec_makes_no_pickle() -> None:
    assert b"putenv" not in encode({"a": b"x", "b": [1, 2.5]})
    with pytest.raises(ForkError):
        encode(Evil())


#: A rogue child that writes forged frames to the connection.
ROGUE = """
import os, pickle, struct
class Evil:
    def __reduce__(self):
        return (os.putenv, ("HOSTILE_PICKLE", "1"))
def send(kind, run, body):
    os.write(1000, struct.pack("!BII", kind, run, len(body)) + body)
for run in range(20):
    send(KIND, run, pickle.dumps(Evil()))
"""


@pytest.mark.parametrize("kind", [3, 4, 6], ids=["CALL", "DONE", "FAILED"])
@pytest.mark.slow
def test_cve_2025_14931_rogue_child_is_not_unpickled(kind: int, host: ProcessHost) -> None:
    host.executor.restart()
    with pytest.raises((ProtocolError, DecodeError)):
        host.executor(ROGUE.replace("KIND", str(kind)))
    assert "HOSTILE_PICKLE" not in host_environment()
    host.executor.restart()
    assert host.executor("6 * 7").output == 42


def host_environment() -> str:
    """Return the environment of this process's C library; ``os.environ`` is a copy."""
    import ctypes

    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_char_p
    return "HOSTILE_PICKLE" if library.getenv(b"HOSTILE_PICKLE") else ""

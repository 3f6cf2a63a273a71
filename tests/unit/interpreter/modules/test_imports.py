"""Modules by dotted names, and what a refused one says."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from smolagents_fork.errors import ImportRefusedError, InterpreterError, ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter


@pytest.mark.parametrize("authorised", ["os.path", "os", "os.*"])
@pytest.mark.parametrize(
    "code",
    [
        "import os.path\nos.path.basename('/a/b')",
        "import os\nos.path.basename('/a/b')",
        "import os.path as p\np.basename('/a/b')",
        "from os import path\npath.basename('/a/b')",
        "from os.path import basename\nbasename('/a/b')",
    ],
)
def test_a_module_known_by_another_name_is_had_by_that_name(authorised: str, code: str) -> None:
    assert Interpreter([authorised]).run(code).output == "b"


def test_a_module_found_in_another_is_not_authorised_by_it() -> None:
    for code in ("import json\njson.codecs", "import json\njson.decoder.scanner.re"):
        with pytest.raises(ProgramRefusedError, match="Forbidden access to module"):
            Interpreter(["json.*"], default_imports=()).run(code)


def test_a_submodule_refused_says_how_to_authorise_it() -> None:
    with pytest.raises(ImportRefusedError, match=r"additional_authorized_imports=\['numpy._core'"):
        Interpreter(["numpy"]).run("import numpy._core")
    with pytest.raises(ImportRefusedError, match=r"additional_authorized_imports=\['json.tool'"):
        Interpreter(["json.decoder"]).run("import json.tool")


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ("json", "import json.decoder\njson.decoder.JSONDecodeError"),
        ("xml.etree", "import xml.etree.ElementTree as tree\ntree.ParseError"),
        ("xml.etree.ElementTree", "import xml.etree\nxml.etree"),
        ("asyncio.runners", "import asyncio.runners"),
        ("asyncio", "import asyncio\nasyncio.runners"),
        ("asyncio", "import asyncio.subprocess"),
        ("concurrent", "from concurrent.futures.thread import ThreadPoolExecutor"),
        ("importlib", "import importlib.util"),
        ("PIL", "from PIL import Image, ImageDraw\nImageDraw.Draw(Image.new('L', (1, 1)))"),
        ("PIL", "import PIL.Image\nPIL.Image.new"),
        ("requests", "import requests\nrequests.exceptions.ConnectionError"),
        ("numpy", "import numpy as np\nnp.rec.array"),
        ("collections", "import collections.abc"),
        ("concurrent", "from concurrent.futures import ThreadPoolExecutor"),
        ("xml.*", "import xml.etree.ElementTree as tree\ntree.ParseError"),
        ("numpy.*", "import numpy._core\nnumpy._core"),
    ],
)
def test_public_submodules_come_with_their_package(listed: str, code: str) -> None:
    Interpreter([listed]).run(code)


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ("numpy", "import numpy._core"),
        ("numpy", "import numpy\nnumpy._core"),
        ("numpy", "from numpy import _core"),
        ("numpy", "import numpy._core.multiarray"),
        ("numpy.linalg", "import numpy.linalg._linalg"),
        ("numpy.linalg", "import numpy.random"),
        ("json", "import jsonlib"),
        ("random", "import random\nrandom._os"),
        ("logging", "import logging.handlers\nlogging.handlers.os"),
        ("matplotlib", "import matplotlib.pyplot as plt\nplt.np"),
    ],
)
def test_other_modules_do_not(listed: str, code: str) -> None:
    with pytest.raises(ProgramRefusedError):
        Interpreter([listed], default_imports=()).run(code)


def test_a_foreign_module_under_a_submodules_name_is_refused(monkeypatch) -> None:
    # As six.moves.builtins and requests.packages.urllib3 are.
    monkeypatch.setitem(sys.modules, "json.foreign", os)
    for code in ("import json.foreign", "from json import foreign", "import json.foreign as f"):
        with pytest.raises(ProgramRefusedError, match="Forbidden access to module: os"):
            Interpreter(["json"]).run(code)
    Interpreter(["json", "json.foreign"]).run("import json.foreign as f\nf.sep")


@pytest.mark.parametrize("kind", ["ModuleNotFoundError", "ImportError", "Exception"])
def test_a_program_may_fall_back_from_a_refused_import(kind: str) -> None:
    code = f"try:\n    import os\nexcept {kind} as e:\n    found = e.name\nfound"
    assert Interpreter().run(code).output == "os"


def test_modules_of_its_package_come_with_a_module() -> None:
    interpreter = Interpreter(["matplotlib.pyplot", "urllib.parse", "requests", "json"])
    code = (
        "import json, requests, matplotlib.pyplot as plt\n"
        "try: 1 / 0\nexcept requests.exceptions.RequestException: caught = 1\n"
        "except ZeroDivisionError: caught = 2\n"
        "(caught, 'ggplot' in plt.style.available, plt.cm.viridis.name, plt.cm.colors.__name__,\n"
        " json.decoder.JSONDecodeError.__name__)"
    )
    found = interpreter.run(code).output
    assert found == (2, True, "viridis", "matplotlib.colors", "JSONDecodeError")
    for refused in (
        "import urllib.parse\nurllib.request",
        "import matplotlib\nmatplotlib.ticker",
        "import requests\nrequests.utils.os",
        "import matplotlib.pyplot as plt\nplt._pylab_helpers",
        "import matplotlib.pyplot as plt\nplt.cm.mpl._api",
        "import matplotlib.pyplot as plt\nplt.sys",
    ):
        with pytest.raises(InterpreterError, match=r"Forbidden access|has no attribute"):
            interpreter.run(refused)


def test_variables_of_a_module_are_read_when_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "changing_module.py").write_text(
        "counter, items, handler = 0, [], None\n"
        "def inc():\n    global counter, items, handler\n    counter += 1\n"
        "    items = items + [counter]\n    handler = lambda: counter\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    code = (
        "import changing_module as m\nfrom changing_module import counter\nm.inc()\nm.inc()\n"
        "m.counter, m.items, m.handler(), counter, 'counter' in dir(m), hasattr(m, 'nothing')"
    )
    found = Interpreter(["changing_module"]).run(code).output
    assert found == (2, [1, 2], 2, 0, True, False)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="Windows has no tzset")
def test_a_change_of_the_time_zone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = Interpreter()
    interpreter.run("import time\ntime.tzname")
    try:
        monkeypatch.setenv("TZ", "XXX-3")
        time.tzset()
        assert interpreter.run("time.tzname, time.timezone").output == (("XXX", "XXX"), -10800)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "code", ["import os\nos.getcwd", "from os import getcwd", "import os as o\no.sep"]
)
def test_what_leads_to_a_submodule_hands_out_no_more(code: str) -> None:
    with pytest.raises(ProgramRefusedError, match=r"of|additional_authorized_imports=\['os'\]"):
        Interpreter(["os.path"]).run(code)
    Interpreter(["os.path", "os"]).run(code)

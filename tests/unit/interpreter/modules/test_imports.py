"""Modules by dotted names, and what a refused one says."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ImportRefusedError, ProgramRefusedError
from smolagents_fork.interpreter import Interpreter


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
    with pytest.raises(ImportRefusedError, match=r"additional_authorized_imports=\['json.decoder'"):
        Interpreter(["json"]).run("from json import decoder")
    with pytest.raises(ProgramRefusedError, match=r"\['json.decoder'\], or \['json.\*'\]"):
        Interpreter(["json"]).run("import json\njson.decoder")


@pytest.mark.parametrize("kind", ["ModuleNotFoundError", "ImportError", "Exception"])
def test_a_program_may_fall_back_from_a_refused_import(kind: str) -> None:
    code = f"try:\n    import os\nexcept {kind} as e:\n    found = e.name\nfound"
    assert Interpreter().run(code).output == "os"


def test_pickle_finds_builtins_and_their_iterators() -> None:
    code = (
        "import pickle\n"
        "numbers = iter([1, 2, 3])\n"
        "next(numbers)\n"
        "[pickle.loads(pickle.dumps(x)) for x in ({1}, bytearray(b'a'), enumerate, int)],"
        " list(pickle.loads(pickle.dumps(numbers)))"
    )
    found, rest = Interpreter(["pickle"]).run(code).output
    assert (found, rest) == ([{1}, bytearray(b"a"), enumerate, int], [2, 3])


def test_a_name_is_looked_for_in_sys_modules_without_a_refusal() -> None:
    assert Interpreter(["sys", "json"]).run(
        "import sys, json\n'os' in sys.modules, 'json' in sys.modules, 'no such' in sys.modules"
    ).output == (False, True, False)

"""Files and addresses through numpy and pandas: refused, unless files are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.interpreter import Interpreter

pytest.importorskip("pandas")

READ = "import pandas as pd\npd.read_csv({!r})['a'].tolist()"
WRITE = "import pandas as pd\npd.DataFrame({{'a': [1]}}).to_csv({!r}, index=False)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside.csv").write_text("a\n7\n")
    (tmp_path / "work" / "in.csv").write_text("a\n5\n")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def interpreter(files: bool) -> Interpreter:
    return Interpreter(["numpy", "pandas"], data_files=files)


def test_a_file_is_refused_with_what_to_do_instead(folder: Path) -> None:
    with pytest.raises(InterpreterError) as caught:
        interpreter(False).run(READ.format("in.csv"))
    message = str(caught.value)
    assert "Forbidden access to file 'in.csv': numpy and pandas open no files here" in message
    assert "io.StringIO" in message
    assert "data_files=True" in message


def test_files_below_the_working_directory_are_for_who_asks(folder: Path) -> None:
    one = interpreter(True)
    assert one.run(READ.format("in.csv")).output == [5]
    one.run(WRITE.format("out.csv"))
    assert (folder / "work" / "out.csv").read_text().split() == ["a", "1"]
    one.run("import numpy as np\nnp.save('x.npy', np.arange(3))")
    assert one.run("np.load('x.npy').tolist()").output == [0, 1, 2]


@pytest.mark.parametrize(
    "path",
    [
        "../outside.csv",
        "{folder}/outside.csv",
        "~/outside.csv",
        "link.csv",
        "file:in.csv",
        "file:///etc/passwd",
        "http://localhost/in.csv",
        "S3://bucket/in.csv",
        "simplecache::http://localhost/in.csv",
        " http://localhost/in.csv",
    ],
)
@pytest.mark.parametrize("code", [READ, WRITE])
def test_nothing_else_is(folder: Path, path: str, code: str) -> None:
    os.symlink(folder / "outside.csv", folder / "work" / "link.csv")
    with pytest.raises(InterpreterError, match=r"Forbidden access to (file|address)"):
        interpreter(True).run(code.format(path.format(folder=folder)))
    assert (folder / "outside.csv").read_text() == "a\n7\n"


def test_a_path_object_is_asked_once(folder: Path) -> None:
    code = f"""
class Path:
    answers = ["in.csv", {str(folder / "outside.csv")!r}]
    def __fspath__(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
import pandas as pd
pd.read_csv(Path())["a"].tolist()
"""
    assert interpreter(True).run(code).output == [5]


def test_addresses_are_refused_either_way(folder: Path) -> None:
    for files in (False, True):
        with pytest.raises(InterpreterError, match="Forbidden access to address 'https://x/y'"):
            interpreter(files).run(READ.format("https://x/y"))


def test_the_local_executor_passes_the_choice_on(folder: Path) -> None:
    executor = LocalPythonExecutor(["pandas"], data_files=True)
    executor.send_tools({})
    assert executor(READ.format("in.csv")).output == [5]
    executor = LocalPythonExecutor(["pandas"])
    executor.send_tools({})
    with pytest.raises(InterpreterError, match="data_files=True"):
        executor(READ.format("in.csv"))


def test_buffers_come_with_pandas_and_files_do_not() -> None:
    one = interpreter(False)
    assert one.run("from io import StringIO\nStringIO('a').read()").output == "a"
    for name in ("open", "FileIO", "open_code"):
        with pytest.raises(InterpreterError, match=f"io.{name}"):
            one.run(f"import io\nio.{name}('/etc/passwd')")
    with pytest.raises(InterpreterError, match="Import of io is not allowed"):
        Interpreter().run("import io")


def test_a_wildcard_does_not_stand_for_what_opens_files_and_memory() -> None:
    one = Interpreter(["numpy.*", "pandas.*"])
    assert one.run("import numpy.linalg as l\nl.norm([3, 4]).item()").output == 5.0
    assert one.run("from pandas.api.types import is_list_like\nis_list_like([])").output
    for name in ("numpy.f2py", "numpy.lib.format", "pandas.io.pickle", "numpy.random._pickle"):
        with pytest.raises(InterpreterError, match=f"Import of {name} is not allowed"):
            one.run(f"import {name}")
    named = Interpreter(["numpy.*", "numpy.lib.stride_tricks"])
    assert named.run(
        "from numpy.lib.stride_tricks import sliding_window_view as s\ns([1, 2, 3], 2).tolist()"
    ).output == [[1, 2], [2, 3]]

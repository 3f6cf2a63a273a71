"""Programs in the child: imports, descriptors, random numbers, files, and the end by a tool."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from background import at_once
from process_harness import executor

from smolagents_fork.errors import (
    ExecutorClosedError,
    ExecutorError,
    InterpreterError,
    ProgramFailedError,
)


def test_program_that_closes_its_descriptors_keeps_its_tools_and_its_output():
    with executor(["os"]) as ex:
        ex.send_tools({"double": lambda number: 2 * number})
        code = "import os\nos.closerange(3, 256)\nos.close(0)\nprint('closed')\ndouble(4)"
        result = ex(code)
        assert (result.output, result.logs) == (8, "closed\n")
        assert ex("double(5)").output == 10


def test_numbers_drawn_differ_between_children():
    code = "import numpy as np\n[int(n) for n in np.random.randint(0, 1 << 30, 4)]"
    with executor(["numpy"]) as one, executor(["numpy"]) as two:
        assert one(code).output != two(code).output


def test_a_module_of_the_project_is_importable_when_authorised(tmp_path, monkeypatch):
    (tmp_path / "project_helper.py").write_text("ANSWER = 42\n")
    (tmp_path / "secret.env").write_text("KEY=hunter2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with executor(["project_helper", "pathlib"]) as ex:
        assert ex("import project_helper\nproject_helper.ANSWER").output == 42
        if "filesystem" in ex.confinement["in_force"]:
            with pytest.raises(ProgramFailedError, match="PermissionError"):
                ex(f"import pathlib\npathlib.Path({str(tmp_path / 'secret.env')!r}).read_text()")


def test_module_of_the_project_does_not_count_as_installed(tmp_path, monkeypatch):
    (tmp_path / "project_module.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    with (
        executor(["*"]) as ex,
        pytest.raises(ProgramFailedError, match="No module named 'project_module'"),
    ):
        ex("import project_module")


def test_a_misspelt_name_of_an_import_is_told_the_nearest():
    with executor() as ex, pytest.raises(ProgramFailedError, match=r"Did you mean: 'Counter'\?"):
        ex("from collections import Countr")


def test_executors_in_threads_are_independent():
    def work(number: int) -> int:
        with executor() as ex:
            ex.send_tools({"add": lambda a, b: a + b})
            return sum(ex(f"add({number}, {n})").output for n in range(20))

    calls = [partial(work, number) for number in range(8)]
    assert at_once(*calls) == [20 * n + 190 for n in range(8)]


def test_code_that_sees_the_end_before_the_kill_ends_the_same(monkeypatch):
    """Another process kills the child, possibly late."""
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        monkeypatch.setattr(ex._session.guest, "kill", lambda: None)
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        monkeypatch.undo()


def test_readable_paths_are_opened_by_the_code_and_by_pandas(tmp_path):
    path = tmp_path / "given" / "data.csv"
    path.parent.mkdir()
    path.write_text("a,b\n1,2\n")
    (tmp_path / "secret").write_text("of the host")
    with executor(["pandas"], readable_paths=[path.parent]) as ex:
        assert ex(f"open({str(path)!r}).read()").output == "a,b\n1,2\n"
        assert ex(f"import pandas\nint(pandas.read_csv({str(path)!r}).b.sum())").output == 2
        for code in (f"open({str(tmp_path / 'secret')!r})", f"open({str(path)!r}, 'w')"):
            with pytest.raises(InterpreterError, match="PermissionError"):
                ex(code)


def test_file_that_has_gone_since_is_named_by_the_restart(tmp_path):
    (tmp_path / "data.csv").write_text("1")
    with executor(files={"data.csv": tmp_path / "data.csv"}) as ex:
        (tmp_path / "data.csv").unlink()
        with pytest.raises(ExecutorError, match=r"files\['data.csv'\]: .*data\.csv"):
            ex.restart()
        (tmp_path / "data.csv").write_text("2")
        assert ex("open('data.csv').read()").output == "2"


def test_temporary_files_are_not_among_the_results():
    code = """
import os, shutil, tempfile
tempfile.mkdtemp()
with tempfile.NamedTemporaryFile("w", delete=False) as file:
    file.write("kept")
shutil.move(file.name, "result.txt")
number, path = tempfile.mkstemp()
os.close(number)
with open("other.txt", "w") as file:
    file.write(path)
sorted(os.listdir(".")), os.path.exists(path)
"""
    with executor(["os", "shutil", "tempfile"]) as ex:
        folder = Path(ex.folder).parent
        assert ex(code).output == (["other.txt", "result.txt"], True)
        assert [entry.path for entry in ex.list_files()] == ["other.txt", "result.txt"]
    assert not folder.exists()

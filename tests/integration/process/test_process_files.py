"""Files of a confined child: opened by the code, exchanged with the host, kept over a kill."""

from __future__ import annotations

from pathlib import Path

import pytest
from process_harness import executor

from smolagents_fork.errors import (
    ExecutorError,
    InterpreterError,
)


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

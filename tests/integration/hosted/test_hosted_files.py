"""Files into and out of a hosted sandbox."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hosted_services import Hosted

from smolagents_fork.errors import ConfigurationError, ExecutorError, FileTooLargeError


def test_files_given_to_the_constructor_are_opened(hosted: Hosted, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two words.txt").write_text("of a folder", "utf-8")
    files = {"data.csv": b"a,b\n1,2\n", "folder": tmp_path}
    executor = hosted.make(files=files)
    assert executor("print(open('data.csv').read())").logs == "a,b\n1,2\n\n"
    assert executor("print(open('folder/sub/two words.txt').read())").logs == "of a folder\n"


def test_missing_source_starts_no_sandbox(hosted: Hosted):
    hosted.service.faults.seen.clear()
    with pytest.raises(ConfigurationError, match="there is no such file or folder"):
        hosted.make(files={"data.csv": "no such file of mine"})
    assert not hosted.service.faults.seen


def test_files_of_several_pieces_go_in_and_out(executor: Any):
    data = os.urandom(2_500_000)
    executor.put_file(data, "in/large")
    executor("import shutil, os\nplace = shutil.copy('in/large', 'copy')\nos.chdir('in')")
    try:
        assert executor.get_file("copy") == executor.get_file("copy", max_bytes=len(data)) == data
        found = [(one.path, one.size) for one in executor.list_files("in")]
        assert found == [("in/large", len(data))]
    finally:
        executor("os.chdir('..')\nos.remove('copy')\nos.remove('in/large')")


def test_pieces_of_files_do_not_stay_in_the_kernels_history(executor: Any):
    executor.put_file(b"x" * 600_000, "kept/large")
    sizes = executor("sum(len(one) for one in In)").output
    assert int(sizes) < 600_000


def test_errors_of_files_say_why(executor: Any):
    executor.put_file(b"123456", "errors/six")
    with pytest.raises(ExecutorError, match=r"get_file: .*errors/none.*No such file"):
        executor.get_file("errors/none")
    with pytest.raises(ExecutorError, match=r"put_file: 0 bytes .*directory"):
        executor.put_file(b"", "errors")
    with pytest.raises(ConfigurationError, match="leads out of the code's work folder"):
        executor.get_file("../x")
    with pytest.raises(FileTooLargeError, match="more than 5 bytes; raise max_bytes"):
        executor.get_file("errors/six", max_bytes=5)

"""Files into and out of a hosted sandbox."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hosted_services import Hosted

from smolagents_fork.errors import ConfigurationError


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
    history = "get_ipython().history_manager.input_hist_raw"
    sizes = executor(f"sum(len(one) for one in {history})").output
    assert int(sizes) < 600_000

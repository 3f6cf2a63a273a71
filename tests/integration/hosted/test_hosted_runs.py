"""Code in a hosted sandbox: figures, packages, files, and the end of its kernel."""

from __future__ import annotations

import re
from typing import Any

import pytest
from doubled_service import PROBE, DoubledService

from smolagents_fork.errors import ConfigurationError, ExecutorError, SandboxDiedError


def test_output_of_megabytes_arrives(hosted: DoubledService):
    executor = hosted.make(max_print_outputs_length=20_000_000)
    assert len(executor("print('x' * 5_000_000)\nprint('y' * 5_000_000)").logs) == 10_000_002


def test_image_is_shown_on_a_machine_with_a_viewer(hosted: DoubledService):
    executor = hosted.make()
    executor(
        "import os, sys\nwith open('xdg-open', 'w') as file: file.write('#!/bin/sh\\ntouch seen')\n"
        "os.chmod('xdg-open', 0o755)\n"
        "os.environ['PATH'] = os.getcwd() + os.pathsep + os.environ['PATH']\n"
        "import PIL.Image\nPIL.Image.new('RGB', (3, 2)).show()"
    )
    assert [display.value.size for display in executor.displays] == [(3, 2)]
    assert executor("os.path.exists('seen'), sys.argv[1:]").output == (False, [])


def test_package_is_installed(executor: Any):
    assert executor.install_packages([f"{PROBE}>=0.5", "json"]) == [f"{PROBE}>=0.5", "json"]
    assert executor(f"import {PROBE}\n{PROBE}.ORIGIN").output == "the service's"


def test_missing_package_is_an_error_and_ends_the_sandbox(hosted: DoubledService):
    with pytest.raises(
        ExecutorError, match="install_packages: RuntimeError: pip ended with 1\n"
    ) as caught:
        hosted.make(imports=("nowhere_found",))
    assert "No matching distribution found for nowhere_found" in str(caught.value)


def test_end_of_the_kernel_is_an_error(hosted: DoubledService):
    executor = hosted.make()
    executor("kept = 1")
    with pytest.raises(SandboxDiedError) as caught:
        executor("print('last', flush=True)\nimport os, time\ntime.sleep(0.3)\nos._exit(3)")
    assert re.match("the kernel in sandbox .* ended: .*; its state is lost, ", str(caught.value))
    assert executor.state["_print_outputs"] == "last\n"
    assert str(caught.value).startswith(f"{caught.value.event}; its state is lost, ")
    assert executor("'kept' in globals()").output is False


def test_missing_source_starts_no_sandbox(hosted: DoubledService):
    hosted.faults.seen.clear()
    with pytest.raises(ConfigurationError, match="there is no such file or folder"):
        hosted.make(files={"data.csv": "no such file of mine"})
    assert not hosted.faults.seen


def test_pieces_of_files_do_not_stay_in_the_kernels_history(executor: Any):
    executor.put_file(b"x" * 600_000, "kept/large")
    history = "get_ipython().history_manager.input_hist_raw"
    sizes = executor(f"sum(len(one) for one in {history})").output
    assert int(sizes) < 600_000


def test_paths_of_files_are_those_of_the_work_folder_wherever_the_code_is(executor: Any):
    executor.put_file(b"given", "elsewhere/data")
    executor("import os\nos.chdir('elsewhere')")
    try:
        assert executor.get_file("elsewhere/data") == b"given"
        found = [(one.path, one.size) for one in executor.list_files("elsewhere")]
        assert found == [("elsewhere/data", 5)]
    finally:
        executor("os.chdir('..')")

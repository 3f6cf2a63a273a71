"""Options of the process executor, and where its children find modules."""

from __future__ import annotations

import os
import sys

import pytest
from background import run_python

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.process.process_options import ProcessOptions
from smolagents_fork.process.confinement_report import MEASURES
from smolagents_fork.process.sandbox_paths import layout_for


def test_every_measure_is_required_but_those_given_up():
    assert ProcessOptions().required == set(MEASURES)
    assert ProcessOptions(network="host").required == set(MEASURES) - {"network"}
    assert ProcessOptions(memory=None).required == set(MEASURES) - {"memory"}
    assert ProcessOptions(allow_missing=["filesystem"]).required == set(MEASURES) - {"filesystem"}
    assert ProcessOptions(allow_unconfined=True).required == set()
    for wrong, words in (
        ({"allow_missing": ["network", "grav"]}, r"allow_missing=\['grav'\]: no such measure"),
        ({"allow_missing": "network"}, r"allow_missing='network': pass a list, such as \['netw"),
        ({"open_files": 3}, "imports need 32 or more"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            ProcessOptions(**wrong)


def test_the_folder_of_the_project_is_not_readable(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "wanted.py").write_text("")
    (tmp_path / "unwanted.py").write_text("")
    layout = layout_for(["wanted", "json", "numpy"])
    assert str(tmp_path / "wanted.py") in layout.readable
    assert str(tmp_path) not in layout.readable
    assert str(tmp_path) in layout.listable
    assert str(tmp_path) in layout.path
    assert str(tmp_path / "unwanted.py") not in layout.readable


def test_libraries_are_readable_and_the_working_directory_is_not():
    layout = layout_for([])
    assert os.path.dirname(os.__file__) in layout.readable
    assert os.getcwd() not in layout.readable
    assert all(os.path.isabs(path) for path in layout.path)
    assert any(path.startswith(sys.base_prefix) for path in layout.readable)


def test_heavy_libraries_are_preloaded_when_they_are_authorised():
    assert layout_for(["numpy", "json"]).preload == ("numpy",)
    assert layout_for(["numpy.linalg", "pandas.*"]).preload == ("numpy", "pandas")
    assert layout_for(["json"]).preload == ()
    assert layout_for(["*"]).preload == ()


def test_the_executor_can_be_imported_where_the_kernel_has_none_of_it():
    # On Windows there is no resource module; the error there is to be one in words, at the start.
    program = (
        "import sys\nsys.modules['resource'] = sys.modules['fcntl'] = None\n"
        "from smolagents_fork import ProcessExecutor\n"
        "from smolagents_fork.process.confinement_report import Kernel\n"
        "ProcessExecutor.kernel = Kernel(platform='win32')\n"
        "try: ProcessExecutor([], None)\nexcept Exception as e: print(type(e).__name__, e)"
    )
    assert run_python(program, switches=("-W", "ignore")) == (
        "ExecutorStartError ProcessExecutor needs fork(), which Windows does not have: use "
        "executor_type='docker'\n"
    )


def test_prefixes_are_not_readable_as_a_whole(monkeypatch):
    # As /bin/python3 may have it, and a Python that was installed for one user.
    for prefix in ("/", os.path.expanduser("~")):
        monkeypatch.setattr(sys, "prefix", prefix)
        monkeypatch.setattr(sys, "base_prefix", prefix)
        readable = layout_for([]).readable
        assert prefix not in readable
        assert os.path.join(prefix, "lib") in readable

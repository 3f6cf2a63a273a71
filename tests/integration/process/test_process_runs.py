"""Programs in the child: state, output, values, errors, the final answer."""

from __future__ import annotations

import pytest
from process_harness import executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ConfigurationError,
    InterpreterError,
    ProgramFailedError,
)


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_no_text_is_lost_or_doubled_however_it_is_printed(count: int):
    code = (
        "import time\n"
        f"for i in range({count}):\n"
        "    print(i, 'é€😀' * (i % 7))\n"
        "    if i < 3: time.sleep(0.12)\n"
        "print('end', end='')"
    )
    expected = "".join(f"{i} {'é€😀' * (i % 7)}\n" for i in range(count)) + "end"
    pieces: list[str] = []
    with executor(max_print_outputs_length=1_000_000, on_output=pieces.append) as ex:
        assert ex(code).logs == expected
    assert "".join(pieces) == expected


def test_a_hundred_megabytes_in_one_print_are_bounded():
    with executor(max_print_outputs_length=1000) as ex:
        assert len(ex("print('x' * 100_000_000)").logs) < 1200


def test_import_that_is_not_installed_is_reported_at_the_start():
    with pytest.raises(
        ConfigurationError, match="Non-installed authorized modules: no_such_module"
    ):
        ProcessExecutor(["no_such_module.sub"], None)


def test_program_that_closes_its_descriptors_keeps_its_tools_and_its_output():
    with executor(["os"]) as ex:
        ex.send_tools({"double": lambda number: 2 * number})
        code = "import os\nos.closerange(3, 256)\nos.close(0)\nprint('closed')\ndouble(4)"
        result = ex(code)
        assert (result.output, result.logs) == (8, "closed\n")
        assert ex("double(5)").output == 10


def test_restart_forgets_state_and_keeps_tools_and_variables():
    with executor() as ex:
        ex.send_tools({"three": lambda: 3})
        ex.send_variables({"given": [1]})
        ex("made = 1")
        before = ex.pid
        ex.restart()
        assert ex.pid != before
        assert ex("three() + given[0]").output == 4
        with pytest.raises(ProgramFailedError, match=r"NameError.*made"):
            ex("made")


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


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("!echo Bad command", "SyntaxError: invalid syntax (<unknown>, line 1)"),
        ("import os; os.system('echo Bad command')", "Import of os is not allowed. Authorized imp"),
    ],
)
def test_upstreams_documented_examples_have_the_same_messages(code: str, words: str):
    with executor() as ex:
        with pytest.raises(InterpreterError) as caught:
            ex(code)
        assert words in str(caught.value)
        assert ex("1 + 1").output == 2

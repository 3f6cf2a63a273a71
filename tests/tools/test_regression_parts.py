"""Installer settings, commands under a deadline, reports, and what stops the suite."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from background import eventually
from private_index import write_wheel_of
from rich.console import Console

from tools.command import Command
from tools.command import run as run_command
from tools.errors import CommandError
from tools.junit import Outcome
from tools.regression import SuiteError, environments, run
from tools.regression.__main__ import main
from tools.regression.causes import Cause
from tools.regression.comparison import Comparison, Kind, Report
from tools.regression.environments import Side, wheel_metadata
from tools.regression.output import show
from tools.regression.settings import environment_of_a_run
from tools.uv import installer_settings

MAIN = "https://main.invalid/simple"


def test_uv_is_told_pip_s_settings() -> None:
    config = (
        "global.cert='/etc/certs.pem'\n"
        "global.extra-index-url='\\nhttps://one.invalid/simple\\nhttps://two.invalid/simple'\n"
        "global.find-links='/a /b'\n"
        ":env:.timeout='60'\n"
    )
    assert installer_settings(config, {}) == {
        "SSL_CERT_FILE": "/etc/certs.pem",
        "UV_FIND_LINKS": "/a,/b",
        "UV_INDEX": "https://one.invalid/simple https://two.invalid/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_main_index_goes_before_others() -> None:
    config = f"global.index-url='{MAIN}'\nglobal.extra-index-url='https://one.invalid/simple'\n"
    assert installer_settings(config, {}) == {
        "UV_INDEX": MAIN,
        "UV_DEFAULT_INDEX": "https://one.invalid/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_main_index_without_settings_goes_before_others() -> None:
    config = "global.extra-index-url='https://one.invalid/simple'\n"
    assert installer_settings(config, {}, MAIN) == {
        "UV_INDEX": MAIN,
        "UV_DEFAULT_INDEX": "https://one.invalid/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_uv_has_its_own_index_without_settings() -> None:
    assert installer_settings("", {}) == installer_settings("", {}, MAIN) == {}


def test_variables_outweigh_files_and_uv_s_own_outweigh_both() -> None:
    config = ":env:.index-url='https://env.invalid'\nglobal.index-url='https://file.invalid'\n"
    assert installer_settings(config, {}) == {"UV_DEFAULT_INDEX": "https://env.invalid"}
    assert installer_settings(config, {"UV_DEFAULT_INDEX": "https://own.invalid"}) == {}


def test_keys_and_proxies_are_kept_from_the_tests(tmp_path: Path) -> None:
    environ = {
        "OPENAI_API_KEY": "k",
        "HF_TOKEN": "t",
        "HTTPS_PROXY": "http://proxy.invalid",
        "PYTHONPATH": "/elsewhere",
        "PATH": "/usr/bin",
        "PIP_INDEX_URL": MAIN,
        "LANG": "C.UTF-8",
    }
    variables = environment_of_a_run(
        environ,
        python=tmp_path / "env" / "bin" / "python",
        home=tmp_path,
        network=False,
        run_all=False,
    )
    assert not {"OPENAI_API_KEY", "HF_TOKEN", "HTTPS_PROXY", "PYTHONPATH"} & set(variables)
    assert not {"RUN_ALL", "REGRESSION_NETWORK"} & set(variables)
    assert variables["PIP_INDEX_URL"] == MAIN
    assert variables["PATH"] == f"{tmp_path}/env/bin:/usr/bin"


def test_a_command_past_its_deadline_is_killed_with_what_it_started() -> None:
    # A shell, which has begun long before that.
    program = "sleep 600 & echo child $!; sleep 600"
    with pytest.raises(CommandError, match=r"ran past timeout_seconds=1 and was ended") as caught:
        run_command(["sh", "-c", program], timeout_seconds=1)
    child = int(str(caught.value).rsplit("child ", 1)[1].split()[0])
    assert eventually(lambda: not _runs(child))


def test_an_interrupted_command_is_ended_with_what_it_started(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = "trap '' TERM; sleep 600 & echo child $!; wait"
    command = Command(["sh", "-c", program], timeout_seconds=500, log=log)
    with contextlib.suppress(KeyboardInterrupt), command:
        assert eventually(lambda: "\n" in log.read_text())
        raise KeyboardInterrupt
    child = int(log.read_text().split()[1])
    assert eventually(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_failing_command_shows_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = "print('the reason'); raise SystemExit(3)"
    with pytest.raises(CommandError) as caught:
        run_command([sys.executable, "-c", program], timeout_seconds=60, log=log)
    assert "exited 3" in str(caught.value)
    assert "the reason" in str(caught.value)
    assert log.read_text("utf-8") == "the reason\n"
    assert run_command([sys.executable, "-c", program], timeout_seconds=60, accepted=(3,))


def test_an_unknown_program_is_an_error_of_the_suite() -> None:
    with pytest.raises(CommandError, match="cannot be started"):
        run_command(["/nonexistent/program"], timeout_seconds=5)


def a_report() -> Report:
    passed, failed = Outcome("passed"), Outcome("failed", "bad\x00 [red]words", "text")
    cause = Cause("needs network", "Name or .* not known")
    comparisons = [
        Comparison("tests/test_a.py::test_1", Kind.PASSED_BOTH, passed, passed),
        Comparison("tests/test_a.py::test_2[x]", Kind.UNDECLARED, passed, failed),
        Comparison("tests/test_a.py::test_3", Kind.FAILED_BOTH, failed, failed, cause),
        Comparison("tests/test_a.py::test_4", Kind.DECLARED, passed, failed, reason="on purpose"),
        Comparison(
            "tests/test_a.py::test_5", Kind.FLAKY, passed, failed, again=((passed, passed),)
        ),
    ]
    return Report("1.0", "1.0+fork.1", comparisons, ["tests/test_b.py::test: declared as failed"])


def test_the_table_shows_every_difference_and_takes_no_markup_from_messages() -> None:
    console = Console(record=True, width=120, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        show(a_report(), console)
        shown = console.export_text()
    assert "UNDECLARED DIFFERENCES (1)" in shown
    assert "tests/test_a.py::test_2[x]" in shown
    assert "[red]words" in shown
    assert "passed/failed, again passed/passed" in shown
    assert "STALE DEVIATION: tests/test_b.py::test" in shown
    assert "on purpose" in shown


def wheel_of(folder: Path, name: str, more: str = "") -> Path:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nProvides-Extra: docker\n{more}"
    return write_wheel_of(folder, name, "1.0", {f"{name}-1.0.dist-info/METADATA": text})


def test_a_wheel_says_what_it_is(tmp_path: Path) -> None:
    assert wheel_metadata(wheel_of(tmp_path, "other")) == ("other", "1.0", {"docker"})


def test_environment_depends_on_what_a_wheel_requires(tmp_path: Path) -> None:
    sums = {
        environments._hash_requirements(Side("fork", wheel_of(tmp_path, "fork", more), "1.0"))
        for more in ("", "Requires-Dist: other\n", "Requires-Dist: other>=2\n", "Summary: other\n")
    }
    assert len(sums) == 3


@pytest.mark.parametrize(
    ("made_from", "packages", "is_taken"),
    [
        ("these", ["other==1.0"], True),
        ("those", ["other==1.0"], False),
        ("these", ["other==1.0", "installed-by-a-test==1.0"], False),
    ],
)
def test_earlier_environment_is_taken_with_the_packages_it_had(
    tmp_path: Path, made_from: str, packages: list[str], is_taken: bool
) -> None:
    contents = {"made from": "these", "packages": ["other==1.0"], "notes": ["a note"]}
    (tmp_path / "contents.json").write_text(json.dumps(contents))

    def uv(*arguments: Any) -> str:
        return "\n".join(["smolagents @ file:///smolagents-1.0.whl", *reversed(packages)])

    earlier = environments._find_environment(uv, tmp_path, made_from)
    assert (earlier is not None) is is_taken
    if earlier is not None:
        assert (earlier.packages, earlier.notes) == (["other==1.0"], ["a note"])


def test_folder_without_a_whole_environment_is_not_taken(tmp_path: Path) -> None:
    uv: Any = None
    assert environments._find_environment(uv, tmp_path, "these") is None
    (tmp_path / "contents.json").write_text('{"made from"')
    assert environments._find_environment(uv, tmp_path, "these") is None


@pytest.mark.parametrize("content", [b"", b"no zip at all"])
def test_a_broken_wheel_is_an_error_of_the_suite(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "smolagents-1.0-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(SuiteError, match="not a readable wheel"):
        wheel_metadata(path)


@pytest.mark.network
def test_an_sdist_with_another_sum_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"\.tar\.gz: sha256 is [0-9a-f]{64}, expected 0{64}"):
        run(sdist_sha256="0" * 64, folder=tmp_path, console=Console(quiet=True))


def test_the_command_line_ends_with_2_when_nothing_was_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["--release", "0.0.1", "--folder", str(tmp_path)])
    assert status == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "the suite could not run: release 0.0.1 is not the locked" in said
    assert "--unlocked" in said

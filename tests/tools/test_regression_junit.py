"""Reading pytest's JUnit files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.errors import SuiteError
from tools.junit import node_id, read_junit


def junit(folder: Path, cases: str) -> Path:
    path = folder / "out.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", "utf-8")
    return path


@pytest.mark.parametrize(
    ("classname", "name", "expected"),
    [
        ("tests.test_a", "test_b", "tests/test_a.py::test_b"),
        ("tests.test_a.TestB", "test_c[x::y.z]", "tests/test_a.py::TestB::test_c[x::y.z]"),
        ("tests.deep.test_a.TestB.TestC", "test_d", "tests/deep/test_a.py::TestB::TestC::test_d"),
        # What pytest writes for a module, and for a class, that could not be collected.
        ("", "tests.test_a", "tests/test_a.py"),
        ("tests.test_a", "TestB", "tests/test_a.py::TestB"),
    ],
)
def test_ids_are_those_of_pytest(classname: str, name: str, expected: str) -> None:
    assert node_id(classname, name) == expected


def test_each_element_has_its_outcome(tmp_path: Path) -> None:
    cases = """
        <testcase classname="tests.test_a" name="test_passed" time="0.5"/>
        <testcase classname="tests.test_a" name="test_failed">
            <failure message="m">t</failure></testcase>
        <testcase classname="tests.test_a" name="test_skipped"><skipped message="why"/></testcase>
        <testcase classname="" name="tests.test_b"><error message="collection failure"/></testcase>
        <testcase classname="tests.test_a" name="test_printed"><system-out>x</system-out></testcase>
    """
    outcomes = read_junit(junit(tmp_path, cases))
    assert {test: outcome.status for test, outcome in outcomes.items()} == {
        "tests/test_a.py::test_passed": "passed",
        "tests/test_a.py::test_failed": "failed",
        "tests/test_a.py::test_skipped": "skipped",
        "tests/test_b.py": "error",
        "tests/test_a.py::test_printed": "passed",
    }
    failed = outcomes["tests/test_a.py::test_failed"]
    assert (failed.message, failed.text) == ("m", "t")
    assert outcomes["tests/test_a.py::test_skipped"].message == "why"


@pytest.mark.parametrize("reverse", [False, True])
def test_a_failing_teardown_outweighs_a_passing_body(tmp_path: Path, reverse: bool) -> None:
    body = '<testcase classname="tests.test_a" name="test_b"/>'
    teardown = '<testcase classname="tests.test_a" name="test_b"><error message="late"/></testcase>'
    cases = teardown + body if reverse else body + teardown
    assert read_junit(junit(tmp_path, cases))["tests/test_a.py::test_b"].status == "error"


def test_an_empty_run_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="names no test at all; the run collected nothing"):
        read_junit(junit(tmp_path, ""))


@pytest.mark.parametrize("content", ["", "<testsuites><testcase", "not xml"])
def test_a_truncated_file_is_no_result(tmp_path: Path, content: str) -> None:
    path = tmp_path / "out.xml"
    path.write_text(content, "utf-8")
    with pytest.raises(SuiteError, match="no readable JUnit file"):
        read_junit(path)


def test_a_missing_file_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no readable JUnit file"):
        read_junit(tmp_path / "none.xml")

"""The committed page and the tables it is made from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_declarations import (
    AREAS,
    BEHAVIOURS,
    COLUMNS,
    DIFFERENCES,
    EXECUTORS,
    FAULTS,
    Fault,
    all_behaviours,
    behaviour,
)

from tools import contract_table


def test_committed_page_is_up_to_date():
    page = contract_table.PAGE.read_text("utf-8")
    assert page == contract_table.draw(all_behaviours(), DIFFERENCES, FAULTS), (
        "run: python -m tools.contract_table"
    )


@pytest.mark.slow
def test_the_page_can_be_made_by_its_command():
    """The command imports the suite itself."""
    code = "from tools import contract_table as t; print(len(t._declarations().all_behaviours()))"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=contract_table.ROOT, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == (f"{len(all_behaviours())}\n", "")


def test_every_time_on_the_page_is_recorded():
    """The benchmarks' rows keep their names."""
    page = contract_table.BENCHMARKS.read_text("utf-8")
    for rows in contract_table.FIGURES.values():
        for executor, label in rows.items():
            found = contract_table.figure(page, contract_table.SECTIONS[executor], label)
            assert found != "not recorded", label


def test_times_come_from_the_column_of_the_fork():
    table = "<!-- bench x -->\n| what | floor | now |\n|---|\n| call | 1 ms | 2 ms |\n"
    page = f"{table}<!-- end bench x -->\n"
    assert contract_table.figure(page, "x", "call") == "2 ms"
    assert contract_table.figure(page, "x", "other") == "not recorded"
    assert contract_table.figure(page.replace("now", "fork"), "x", "call") == "not recorded"


def test_times_are_drawn_again_without_a_run_of_the_suite(tmp_path, monkeypatch):
    page, benchmarks = tmp_path / "index.md", tmp_path / "benchmarks.md"
    text = contract_table.PAGE.read_text("utf-8")
    figures = contract_table.BENCHMARKS.read_text("utf-8")
    page.write_text(text, "utf-8")
    old = contract_table.figure(figures, "docker", "later call, p50")
    benchmarks.write_text(figures.replace(f"| {old} |", "| 1.23 ms |"), "utf-8")
    monkeypatch.setattr(contract_table, "PAGE", page)
    monkeypatch.setattr(contract_table, "BENCHMARKS", benchmarks)
    contract_table.write_times()
    changed = [one for one in page.read_text("utf-8").splitlines() if "1.23 ms" in one]
    assert [one.split(" | ")[0] for one in changed] == ["| call of `1+1`"]
    benchmarks.write_text(figures, "utf-8")
    contract_table.write_times()
    assert page.read_text("utf-8") == text


def test_order_is_that_of_the_files_whatever_was_imported_first(monkeypatch):
    before = all_behaviours()
    monkeypatch.setattr(
        "contract_declarations.BEHAVIOURS", dict(reversed(list(BEHAVIOURS.items())))
    )
    assert all_behaviours() == before


def test_every_area_has_behaviours():
    assert {one.area for one in all_behaviours()} == set(AREAS)


def test_differences_name_existing_tests_and_executors():
    tests = {one.test for one in all_behaviours()}
    named = [
        (name, test)
        for one in (*DIFFERENCES, *FAULTS)
        for name in one.executors
        for test in one.tests
    ]
    assert {test for _, test in named} <= tests
    assert {name for name, _ in named} <= {*EXECUTORS, *COLUMNS}
    assert len(named) == len(set(named)), "one difference for a test and an executor"


def test_every_test_of_the_suite_declares_its_behaviour():
    declared = {one.test for one in all_behaviours()}
    for path in Path(__file__).parent.glob("test_contract_*.py"):
        if path.name != Path(__file__).name:
            text = path.read_text("utf-8")
            found = {
                line[4:].partition("(")[0] for line in text.splitlines() if line[:9] == "def test_"
            }
            assert found <= declared, path.name


def test_a_behaviour_of_an_unknown_area_is_refused():
    with pytest.raises(ValueError, match="area 'Weather'"):
        behaviour("Weather", "It rains.")


def suite(**outcomes: str) -> str:
    cases = "".join(
        f'<testcase classname="x" name="{name.replace("__", "[")}{"]" if "__" in name else ""}">'
        f"{body}</testcase>"
        for name, body in outcomes.items()
    )
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>"


def test_incomplete_run_does_not_write_the_page(tmp_path):
    held = [one for one in all_behaviours() if one.test == "test_state_lives_on"]
    results = tmp_path / "results.xml"

    def problems(**outcomes: str) -> list[str]:
        results.write_text(suite(**outcomes), "utf-8")
        return contract_table.problems(held, EXECUTORS, results)

    names = {f"test_state_lives_on__{name}": "" for name in EXECUTORS}
    assert problems(**names) == []
    assert problems(**{**names, "test_state_lives_on__docker": "<failure/>"}) == [
        "test_state_lives_on[docker]: failure"
    ]
    assert problems(
        **{**names, "test_state_lives_on__docker": '<skipped message="no engine"/>'}
    ) == ["test_state_lives_on[docker]: skipped (no engine)"]
    del names["test_state_lives_on__process"]
    assert problems(**names) == ["test_state_lives_on on process: did not run"]


def test_expected_failure_is_shown_as_missing(tmp_path):
    held = [one for one in all_behaviours() if one.test == "test_state_lives_on"]
    expected = '<skipped type="pytest.xfail" message="not yet"/>'
    results = tmp_path / "results.xml"
    names = {f"test_state_lives_on__{name}": expected for name in EXECUTORS}
    results.write_text(suite(**names), "utf-8")
    assert contract_table.problems(held, EXECUTORS, results) == []
    page = contract_table.draw(held, (), (Fault(("local",), ("test_state_lives_on",), "Why."),))
    assert "| [not yet](#not-yet) | yes | yes |" in page
    assert "- `local`: Why." in page

"""The committed page and the tables it is made from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_declarations import BEHAVIOURS, COLUMNS, DIFFERENCES, EXECUTORS, all_behaviours

from tools import contract_table


def test_committed_page_is_up_to_date():
    page = contract_table.PAGE.read_text("utf-8")
    assert page == contract_table.draw(all_behaviours(), DIFFERENCES), (
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


def test_order_is_that_of_the_files_whatever_was_imported_first(monkeypatch):
    before = all_behaviours()
    monkeypatch.setattr(
        "contract_declarations.BEHAVIOURS", dict(reversed(list(BEHAVIOURS.items())))
    )
    assert all_behaviours() == before


def test_differences_name_existing_tests_and_executors():
    tests = {one.test for one in all_behaviours()}
    named = [(name, test) for one in DIFFERENCES for name in one.executors for test in one.tests]
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

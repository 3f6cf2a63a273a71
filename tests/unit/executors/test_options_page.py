"""The tables of options on the pages are those of the options' definitions."""

from __future__ import annotations

import ast
import re

import pytest

from smolagents_fork.executors.hosted import BlaxelExecutor, E2BExecutor, ModalExecutor
from smolagents_fork.executors.process.process_options import ProcessOptions
from smolagents_fork.options.unknown_names import FORMER_NAMES
from tools import option_tables
from tools.option_tables import default_shown, drawn, of_signature, type_word
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "options.md").read_text("utf-8")


def cells(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading; the first is its head."""
    section = PAGE[PAGE.index(f"\n## {heading}\n") :]
    rows = re.findall(r"^\| (.+) \|$", section[: section.find("\n## ", 4)], re.MULTILINE)
    return [row.split(" | ") for row in rows if not row.startswith("---")]


@pytest.mark.parametrize("page", option_tables.PAGES)
def test_tables_are_those_of_the_definitions(page):
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- options: " in text
    assert drawn(text) == text, "run: python -m tools.option_tables"


def test_every_table_is_on_a_page():
    pages = "".join((ROOT / page).read_text("utf-8") for page in option_tables.PAGES)
    assert sorted(re.findall(r"<!-- options: ([^>]+) -->", pages)) == sorted(option_tables.TABLES)


def test_every_parameter_of_the_hosted_executors_has_a_row():
    head, *rows = cells("Hosted services")
    classes = {"blaxel": BlaxelExecutor, "e2b": E2BExecutor, "modal": ModalExecutor}
    said = {row[0].strip("`"): dict(zip(head, row, strict=True)) for row in rows}
    for column, cls in classes.items():
        has = of_signature(cls._begin) | of_signature(cls)
        del has["self"]
        has.pop("arguments", None)
        assert {name for name, row in said.items() if row[column] != "no"} == set(has)
        for name, (annotation, default) in has.items():
            assert said[name]["type"] == type_word(name, annotation)
            assert said[name][column] == default_shown(default)


def test_former_names_are_those_that_go_on_working():
    rows = cells("Former names")[1:]
    assert {row[0].strip("`"): row[1].strip("`") for row in rows if "=" not in row[0]} == (
        FORMER_NAMES
    )
    for former, present in [row[:2] for row in rows if "=" in row[0]]:
        (value,) = ast.parse(f"f({former.strip('`')})").body[0].value.keywords  # type: ignore[attr-defined]
        (now,) = ast.parse(f"f({present.strip('`')})").body[0].value.keywords  # type: ignore[attr-defined]
        made = ProcessOptions(**{value.arg: ast.literal_eval(value.value)})
        assert getattr(made, now.arg) == ast.literal_eval(now.value)

"""The tables of options on the pages are those of the options' definitions."""

from __future__ import annotations

import re

import pytest

from smolagents_fork.executors.hosted import BlaxelExecutor, E2BExecutor, ModalExecutor
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

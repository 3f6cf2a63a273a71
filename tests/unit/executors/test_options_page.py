"""The tables of options on the pages are those of the options' definitions."""

from __future__ import annotations

import re

import pytest

from tools import option_tables
from tools.option_tables import draw_tables
from tools.paths import ROOT


@pytest.mark.parametrize("page", option_tables.PAGES)
def test_tables_are_those_of_the_definitions(page):
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- options: " in text
    assert draw_tables(text) == text, "run: python -m tools.option_tables"


def test_every_table_is_on_a_page():
    pages = "".join((ROOT / page).read_text("utf-8") for page in option_tables.PAGES)
    assert sorted(re.findall(r"<!-- options: ([^>]+) -->", pages)) == sorted(option_tables.TABLES)

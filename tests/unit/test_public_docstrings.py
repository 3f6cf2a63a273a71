"""Descriptions of arguments and attributes in public docstrings are phrases, not fragments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

import smolagents_fork
from smolagents_fork import testing

#: Words that continue a sentence of which there is no beginning, as in ``name: of the thread.``
CONTINUATIONS = frozenset(
    "about as at by for from in its likewise of on that their to under when where which whose with"
    .split()
)  # fmt: skip


def descriptions(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield each argument and attribute that a docstring describes, and its first line."""
    sections = re.findall(r"^(?:Args|Attributes):\n((?: .*\n|\n)+)", docstring + "\n", re.MULTILINE)
    for section in sections:
        yield from re.findall(r"^ {4}(\*{0,2}\w+): (.+)$", section, re.MULTILINE)


def is_fragment(description: str) -> bool:
    """Return whether a description begins in the middle of a phrase."""
    first = description.split()[0].rstrip(".,;:")
    return first.lower() in CONTINUATIONS or first[0].islower()


def public_docstrings() -> Iterator[tuple[str, str]]:
    """Yield the docstrings of the public classes, functions and methods that the fork defines."""
    public = [(module, name) for module in (smolagents_fork, testing) for name in module.__all__]
    for name, value in [(name, getattr(module, name)) for module, name in public]:
        members = inspect.getmembers(value, callable) if inspect.isclass(value) else []
        for member_name, member in [("", value), *members]:
            if member_name.startswith("_") or not callable(member):
                continue
            if str(getattr(member, "__module__", "")).startswith("smolagents_fork"):
                yield f"{name}.{member_name}".rstrip("."), inspect.getdoc(member) or ""


def test_descriptions_of_public_arguments_are_phrases():
    found = [
        f"{name}: {argument}: {description}"
        for name, docstring in public_docstrings()
        for argument, description in descriptions(docstring)
        if is_fragment(description)
    ]
    assert found == []


def test_public_arguments_are_read():
    counted = [pair for _, text in public_docstrings() for pair in descriptions(text)]
    assert len(counted) > 80


@pytest.mark.parametrize(
    "description", ["of the thread.", "likewise.", "whose quota counts.", "seconds to wait."]
)
def test_fragment_is_found(description: str):
    docstring = f"Do it.\n\nArgs:\n    name: {description}\n"
    assert [is_fragment(text) for _, text in descriptions(docstring)] == [True]


def test_phrase_passes():
    docstring = "Do it.\n\nArgs:\n    name: Name of the thread.\n    **rest: ``None``: all.\n"
    assert [is_fragment(text) for _, text in descriptions(docstring)] == [False, False]

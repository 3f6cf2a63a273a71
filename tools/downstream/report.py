"""``docs/downstream.md``: each package with its version and its result on both sides."""

from __future__ import annotations

from typing import NamedTuple

from .packages import Package
from .runs import Outcome

__all__ = ["Result", "is_regression", "page", "verdict"]

_HEAD = """\
<!-- Made by `make test-downstream`; do not edit. -->
# Packages that build on smolagents

`make test-downstream` installs each package into an environment with the fork, and into one with
upstream's release. It runs a small program with it in both (`tools/downstream/uses`). A hosted
workflow runs it weekly. The command fails when a package works with upstream and not with the fork.
"""


class Result(NamedTuple):
    """A package with its outcome on either side."""

    package: Package
    fork: Outcome
    upstream: Outcome


def is_regression(result: Result) -> bool:
    """Say whether a package works with upstream and not with the fork."""
    return result.upstream.works and not result.fork.works


def verdict(result: Result) -> str:
    """Say in a few words what the two outcomes mean."""
    if result.fork.works:
        return "works" if result.upstream.works else "works; fails with upstream"
    return "**fails; works with upstream**" if result.upstream.works else "fails, as with upstream"


def page(results: list[Result], versions: tuple[str, str], when: str) -> str:
    """Return the page.

    Args:
        results: of all packages.
        versions: the fork's and upstream's.
        when: date and Python of the run, for the reader.
    """
    lines = [
        _HEAD,
        f"Last recorded: {when}; the fork {versions[0]}, upstream {versions[1]}.",
        "",
        "| package | version | the program with the fork | result |",
        "|---|---|---|---|",
    ]
    notes = []
    for result in results:
        name, version = result.package.name, result.fork.version or "not installed"
        message = _cell(result.fork.message)
        lines.append(f"| `{name}` | {version} | {message} | {verdict(result)} |")
        if result.package.note:
            notes.append(f"- `{name}`: {result.package.note}.")
        if not result.upstream.works:
            notes.append(f"- `{name}` with upstream: {_cell(result.upstream.message)}")
    return "\n".join([*lines, "", *notes]).rstrip("\n") + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

"""The figures as text: a line a file, the totals, and the failures grouped by cause."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from .measurement import FileResult, MethodResult

__all__ = ["Cause", "cause_of", "causes", "document", "file_line", "totals"]

#: Parts of a message that differ from method to method, and what stands for them in a group.
_VARYING = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x..."),
    (re.compile(r"<([\w.]*?)[\w.<>]* object at 0x\.\.\.>"), r"<object>"),
    (re.compile(r"\b\d[\d_,.]*\b"), "N"),
)
_LONGEST_GROUP = 110


class Cause:
    """One group of failures: their common message, the methods, and the lines that failed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.methods: list[str] = []
        self.sources: dict[str, int] = defaultdict(int)

    def add(self, file: str, method: MethodResult) -> None:
        self.methods.append(f"{file}:{method.name}")
        if method.source:
            self.sources[method.source] += 1

    @property
    def examples(self) -> list[str]:
        """Up to three source lines, the most frequent first."""
        return sorted(self.sources, key=lambda line: -self.sources[line])[:3]


def cause_of(error: str) -> str:
    """Return the group of an error: its first line without numbers, addresses and long values."""
    if error.startswith("AssertionError"):
        return "AssertionError: a value or message differs from CPython's"
    for pattern, instead in _VARYING:
        error = pattern.sub(instead, error)
    return error[:_LONGEST_GROUP]


def causes(results: Iterable[FileResult]) -> list[Cause]:
    """Return the groups, the largest first."""
    found: dict[str, Cause] = {}
    for result in results:
        for method in result.methods:
            if not method.passed:
                text = cause_of(method.error)
                found.setdefault(text, Cause(text)).add(result.name, method)
    return sorted(found.values(), key=lambda cause: -len(cause.methods))


def file_line(result: FileResult) -> str:
    """One file's figures in a line."""
    total = len(result.baseline)
    if result.note:
        return f"{result.name:<30} {result.note}"
    text = f"{result.name:<30} {result.kept:>4} of {total:>4}  {result.kept / total:.2f}"
    if result.whole_error:
        methods = sum(not part["names"] for part in result.removed)
        text += f"  without {methods} function(s)"
        if others := len(result.removed) - methods:
            text += f" and {others} other part(s)"
        text += " that it does not load with"
    return text


def totals(results: Sequence[FileResult]) -> dict[str, Any]:
    """Return the figures of the whole run."""
    total = sum(len(result.methods) for result in results)
    kept = sum(result.kept for result in results)
    whole = sum(result.kept for result in results if not result.whole_error)
    others = sum(result.kept for result in results if any(part["names"] for part in result.removed))
    return {
        "baseline": total,
        "kept": kept,
        "share": round(kept / total, 4) if total else 0.0,
        "kept_in_whole_files": whole,
        "share_in_whole_files": round(whole / total, 4) if total else 0.0,
        "kept_in_files_without_other_parts": others,
    }


def document(results: Sequence[FileResult], about: dict[str, Any]) -> dict[str, Any]:
    """Return the run as JSON."""
    return {
        **about,
        "totals": totals(results),
        "causes": [
            {
                "text": cause.text,
                "count": len(cause.methods),
                "examples": cause.examples,
                "methods": cause.methods,
            }
            for cause in causes(results)
        ],
        "files": [result.document() for result in results],
    }

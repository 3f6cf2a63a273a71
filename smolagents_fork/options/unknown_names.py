"""Keywords that a class does not have, and the option that was probably meant.

An option that waives a boundary is suggested only for its own misspelt name, never for a similar
one: ``allow_network=True`` means ``network=``, and not ``allow_shared_network=``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping

from ..errors import ConfigurationError

__all__ = ["check_known", "check_of_executor", "suggest_options"]

# Options that need what only some executors have -> those executors.
_ELSEWHERE = {
    **dict.fromkeys(
        ("allowed_hosts", "max_connections", "max_network_bytes", "secrets"),
        "ProcessExecutor and DockerExecutor have it",
    ),
    **dict.fromkeys(
        ("max_operations", "max_recursion_depth", "max_while_iterations"),
        "LocalPythonExecutor has it; elsewhere timeout_seconds= limits code",
    ),
}
# Beginnings of a flag's name: what follows says what the flag is about.
_FLAG_PREFIXES = ("allow_", "allowed_", "block_", "disable_", "enable_", "no_", "use_", "with_")
# Options that waive a boundary, besides all that begin with allow_.
_WAIVERS = frozenset({"container_run_kwargs", "read_only", "readable_paths"})
# Mistyped letters of a waiver's own name.
_MOST_EDITS = 2
# Likeness from which another name is taken for misspelt.
_LIKENESS = 0.7


def check_known(
    owner: str,
    keywords: Iterable[str],
    known: Iterable[str],
    words: Callable[[], Mapping[str, Collection[str]]],
) -> None:
    """Refuse unknown keywords; the error names the option that was meant, or the known ones.

    Args:
        words: returns, for each word by which options are called elsewhere, the options.
    """
    names = sorted(known)
    unknown = sorted(set(keywords) - set(names))
    if unknown:
        meant = [] if unknown[0] in _ELSEWHERE else suggest_options(unknown[0], names, words())
        hint = f"did you mean {' or '.join(map(repr, meant))}?"
        if not meant:
            hint = _ELSEWHERE.get(unknown[0]) or f"known are: {', '.join(names)}"
        raise ConfigurationError(f"{owner} has no parameter {unknown[0]!r}; {hint}")


def check_of_executor(owner: str, keywords: Iterable[str]) -> None:
    """Refuse the options of other executors, where unknown keywords are those of a service."""
    for name in keywords:
        if name in _ELSEWHERE:
            raise ConfigurationError(f"{owner} has no parameter {name!r}; {_ELSEWHERE[name]}")


def suggest_options(
    unknown: str, names: Collection[str], words: Mapping[str, Collection[str]]
) -> list[str]:
    """Return the options that were probably meant; empty if there are none.

    Args:
        words: for each word by which options are called elsewhere, the options.
    """
    subjects = [
        unknown.removeprefix(prefix) for prefix in _FLAG_PREFIXES if unknown.startswith(prefix)
    ]
    safe = [name for name in names if not _waives(name) or _edits(unknown, name) <= _MOST_EDITS]
    for word in (unknown, *subjects):
        if word in safe:
            return [word]
        meant = [name for name in words.get(word, ()) if name in safe]
        close = meant or difflib.get_close_matches(word, safe, 1, cutoff=_LIKENESS)
        if close:
            return close
    return []


def _waives(name: str) -> bool:
    return name.startswith("allow_") or name in _WAIVERS


def _edits(first: str, second: str) -> int:
    """Count the letters to insert, remove or replace to make ``second`` of ``first``."""
    row = list(range(len(second) + 1))
    for count, letter in enumerate(first, 1):
        last, row = row, [count]
        for place, other in enumerate(second):
            cheapest = min(last[place + 1] + 1, row[place] + 1, last[place] + (letter != other))
            row.append(cheapest)
    return row[-1]

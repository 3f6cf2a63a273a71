"""Causes of tests that pass on neither side: rules over the failure's text, first match wins.

A rule never excuses a difference: causes are given only to tests that do not pass on pristine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.junit import Outcome

__all__ = ["RULES", "UNEXPLAINED", "Cause", "classify"]


@dataclass(frozen=True)
class Cause:
    """A cause and the rule that found it (a regular expression, or empty)."""

    name: str
    rule: str = ""


UNEXPLAINED = Cause("unexplained")

RULES: tuple[Cause, ...] = (
    # Weights before network: the hub's client words an absent file as a failed connection.
    Cause("absent weights", r"Failed to load tokenizer and model for model_id="),
    Cause("absent weights", r"outgoing traffic has been disabled|LocalEntryNotFoundError"),
    Cause("needs network", r"the regression suite keeps tests off the network"),
    Cause("needs network", r"Name or service not known|Temporary failure in name resolution"),
    Cause("needs network", r"dial tcp: lookup [\w.-]+ .*no such host|DNSError"),
    Cause("needs network", r"Failed to resolve|Network is unreachable|Max retries exceeded"),
    # The tool turns the exception into this sentence.
    Cause("needs network", r"Error fetching Wikipedia summary: https?://"),
    Cause("needs a package index", r"\['uv', 'pip', 'install'.*non-zero exit status"),
    Cause("needs the program uv", r"No such file or directory: 'uv'"),
    Cause("needs upstream's docs, absent from the sdist", r"Docs directory not found at"),
    # The sdist carries test files of removed modules that the tag does not have.
    Cause("stale test file in the sdist", r"cannot import name '\w+' from 'smolagents[\w.]*'"),
    # Before packages: a wheel without its library often tries another module first.
    Cause("absent system library", r"OSError: cannot load library|cannot open shared object file"),
    Cause("absent package", r"No module named '(?!smolagents)|absent package: "),
    Cause("absent package", r"requires the PyTorch library but it was not found"),
    Cause("needs an API key", r"AuthenticationError|[Ii]nvalid API [Kk]ey|Missing credentials"),
    Cause("needs an API key", r"API key is required|must provide an api_key|Token missing"),
    Cause("needs a container engine", r"Could not connect to Docker|DockerException"),
    Cause("ran past the time limit", r"Failed: Timeout|Timeout \(>?[\d.]+s\)"),
)


def classify(outcome: Outcome) -> Cause:
    """Return the cause of a failure, with the rule that matched; ``UNEXPLAINED`` when none does."""
    words = f"{outcome.message}\n{outcome.text}"
    return next((rule for rule in RULES if re.search(rule.rule, words)), UNEXPLAINED)

"""The one-page report of a rebase, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.git import Git
from tools.rebase.conflict import Conflict
from tools.rebase.replay import base_ref, series_ref
from tools.rebase.result import why_dropped
from tools.rebase.state import State
from tools.rebase.trial import TestResult

__all__ = ["Verdict", "conflict_text", "report_text"]

# A page; a longer range-diff is one to read in the repository.
_RANGE_DIFF_LINES = 160


@dataclass
class Verdict:
    """What trying the result out has shown.

    Attributes:
        wheel: the wheel's file name; empty when it could not be built.
        lint: errors of the series' lint.
        tests: results by patch.
        regression: the suite's verdict and lines; None when it was left out.
        problem: what stopped the trial; empty when it ran to its end.
        kept: patches of the new series, in order.
        dropped: patches that are gone.
    """

    wheel: str = ""
    lint: list[str] = field(default_factory=list)
    tests: list[TestResult] = field(default_factory=list)
    regression: tuple[bool, str] | None = None
    problem: str = ""
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether the result may be written."""
        return not (
            self.problem
            or self.lint
            or any(result.problem for result in self.tests)
            or (self.regression is not None and not self.regression[0])
        )


def conflict_text(state: State, name: str, places: Sequence[Conflict]) -> str:
    """What a person has to know who meets a conflict: patch, file, hunk, and how to go on."""
    before, step = state.steps[state.at - 1], state.step
    done = ", ".join(pick.name for pick in step.picks) or "none"
    listed = "\n".join(f"  {place}" for place in places)
    paths = " ".join(dict.fromkeys(place.path for place in places))
    names = [f"{kind}/{one.label}" for kind, one in (("upstream", before), ("upstream", step))]
    return f"""\
conflict: patches/{name} does not fit upstream {step.label}
{listed}
On {step.label} so far: {done}. Still to come after this one: {len(state.queue) - 1}.

To go on:
  1. cd .rebase/repo and edit away the marks: after <<<<<<< stands upstream's text,
     after ||||||| what the patch was written on, after ======= what the patch makes of it
     what upstream changed there:  git diff {names[0]} {names[1]} -- {paths}
     what the patch does:          git show {state.queue[0][:12]}
     to drop the patch instead:    git cherry-pick --skip
  2. git add {paths}
  3. make rebase-continue
To give up: make rebase-abort. patches/, upstream.lock, the version and CHANGELOG.md are
untouched."""


def report_text(
    state: State,
    git: Git,
    verdict: Verdict | None,
    conflict: str = "",
) -> str:
    """The report as it stands.

    Args:
        state: the rebase.
        git: the scratch repository.
        verdict: of the trial; None when it was not reached.
        conflict: the text of :func:`conflict_text` when stopped by one.
    """
    lines = [
        f"# Rebase from smolagents {state.old} to {state.new}",
        "",
        _headline(state, verdict, conflict),
    ]
    if conflict:
        lines += ["", "```", conflict, "```"]
    lines += ["", "## Release by release", "", *_picks_table(state)]
    source = f"upstream's tags in `{state.upstream_git}`" if state.upstream_git else "releases"
    lines += ["", f"Bases: {source}. " + "; ".join(_notes(state, verdict))]
    if verdict is not None:
        lines += _verdict_lines(verdict)
    lines += ["", "## Range-diff", "", *_range_diff(state, git)]
    return "\n".join(lines) + "\n"


def _headline(state: State, verdict: Verdict | None, conflict: str) -> str:
    if conflict:
        return f"**Stopped by a conflict** on {state.step.label} ({state.date})."
    if verdict is None:
        return f"Under way ({state.date})."
    if not verdict.is_good:
        return f"**The series fits, but the result does not hold** ({state.date}): see below."
    kept, dropped = len(verdict.kept), len(verdict.dropped)
    return f"The series is on {state.new} ({state.date}): {kept} patches kept, {dropped} dropped."


def _picks_table(state: State) -> list[str]:
    steps = state.steps[1 : state.at + 1]
    names = dict.fromkeys(pick.name for step in steps for pick in step.picks)
    if not names:
        return ["The series has no patch." if not state.queue else "No patch is on a new base yet."]
    rows = [
        "| patch | " + " | ".join(step.label for step in steps) + " |",
        "|---|" + "---|" * len(steps),
    ]
    for name in names:
        cells = []
        for step in steps:
            outcomes = [pick.outcome for pick in step.picks if pick.name == name]
            cells.append(outcomes[0] if outcomes else "")
        rows.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return rows


def _notes(state: State, verdict: Verdict | None) -> list[str]:
    notes = list(state.notes)
    for name in verdict.dropped if verdict else []:
        notes.append(f"`{name}` is dropped: {why_dropped(state, name)}")
    notes += [f"`{path}` leaves prune.list: not in {state.new}" for path in state.prune_dropped]
    notes += [f"`{path}` is new in prune.list: stray in {state.new}" for path in state.prune_added]
    return notes or ["Nothing was dropped, nothing is pruned anew."]


def _verdict_lines(verdict: Verdict) -> list[str]:
    lines = ["", "## The result tried out", ""]
    if verdict.problem:
        lines += ["```", verdict.problem.strip(), "```", ""]
    lines += [f"- lint: {text}" for text in verdict.lint]
    if verdict.wheel:
        lines += [f"Wheel: `{verdict.wheel}`.", ""]
    if verdict.tests:
        lines += ["| tests of | passed | result |", "|---|---:|---|"]
    for result in verdict.tests:
        name = f"`{result.patch}`" + (" (dropped)" if result.is_dropped else "")
        if result.problem:
            word = "**FAILED**"
        elif result.passed:
            word = "good"
        else:
            word = "its tests are gone with it"
        lines.append(f"| {name} | {result.passed} | {word} |")
    for result in verdict.tests:
        if result.problem:
            lines += ["", f"`{result.patch}`:", "", "```", result.problem, "```"]
    if verdict.regression is not None:
        word = "no undeclared difference" if verdict.regression[0] else "**differences**"
        lines += ["", f"## Upstream's own tests: {word}", "", verdict.regression[1]]
    elif not verdict.problem:
        lines += ["", "Upstream's own tests were not run (left out, or not reached)."]
    return lines


def _range_diff(state: State, git: Git) -> list[str]:
    first = state.steps[0]
    last = state.step
    tip = "HEAD" if state.phase in {"verify", "failed", "write"} else state.tip
    if (
        last is first
        or not tip
        or git.run("rev-parse", "-q", "--verify", base_ref(last), check=False).returncode
    ):
        return ["No base was reached."]
    old, new = f"{base_ref(first)}..{series_ref(first)}", f"{base_ref(last)}..{tip}"
    done = git.run("range-diff", "--no-color", "--creation-factor=90", old, new, check=False)
    text = done.stdout.decode("utf-8", "replace").splitlines()
    if len(text) > _RANGE_DIFF_LINES:
        left = len(text) - _RANGE_DIFF_LINES
        text = [*text[:_RANGE_DIFF_LINES], f"... and {left} more lines"]
    return ["```", *(text or ["(an empty series)"]), "```"]

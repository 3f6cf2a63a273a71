"""The one-page report of a rebase, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tools.rebase.folder import Folder, Plan
from tools.rebase.replay import Stop, outcomes, series_tag, upstream_tag
from tools.rebase.trial import Verdict
from tools.series.repository import commits

__all__ = ["refusal_text", "report_text", "stop_text"]

# A page; a longer range-diff is one to read in the repository.
_RANGE_DIFF_LINES = 160


def stop_text(stop: Stop) -> str:
    """Describe a conflict for its resolver: patch, place, and how to continue."""
    places = "\n".join(f"  {place}" for place in stop.places)
    paths = " ".join(stop.paths)
    releases = f"upstream/{stop.before} upstream/{stop.version}"
    return f"""\
conflict: patches/{stop.patch} does not fit upstream {stop.version}
{places}

To go on:
  1. cd .rebase/repo and edit away the marks: upstream's text is after <<<<<<<,
     what the patch was written on after |||||||, what the patch makes of it after =======
     what upstream changed there:  git diff {releases} -- {paths}
     what the patch does:          git show REBASE_HEAD
  2. git add {paths}
  3. make rebase-continue, in the checkout
To leave the patch out instead:  git rebase --skip in .rebase/repo, then make rebase-continue."""


def refusal_text(plan: Plan, verdict: Verdict) -> str:
    """Describe a result that does not hold: what failed, and how to continue."""
    text = "\n".join(f"{check.name}:\n{check.problem}" for check in verdict.checks if check.problem)
    return f"""\
stopped: the series fits, but the result does not hold.
{text}

To go on: change the commits in .rebase/repo (git commit --amend, or git rebase -i
upstream/{plan.new}) or the package or tests in the checkout, then make rebase-continue.
The report is .rebase/report.md, logs are in .rebase/logs."""


def report_text(folder: Folder, plan: Plan, outcome: Stop | Verdict) -> str:
    """Return the report as it is now.

    Args:
        outcome: what the replay stopped at, or what trying the result out has shown.
    """
    lines = [f"# Rebase from smolagents {plan.old} to {plan.new}", ""]
    table = ["", "## Release by release", "", *_outcome_table(folder, plan)]
    if isinstance(outcome, Stop):
        lines += [f"**Stopped by a conflict** on {outcome.version} ({plan.date}).", ""]
        lines += ["```", stop_text(outcome), "```", *table]
    else:
        lines += [*_verdict_lines(plan, outcome), *table]
        lines += ["", "## Range-diff", "", "```", *_range_diff(folder, plan), "```"]
    return "\n".join(lines) + "\n"


def _outcome_table(folder: Folder, plan: Plan) -> Iterator[str]:
    table = outcomes(folder.git, plan)
    yield "| patch | " + " | ".join(plan.versions[1:]) + " |"
    yield "|---|" + "---|" * len(plan.versions[1:])
    for commit in commits(folder.git, upstream_tag(plan.old), series_tag(plan.old)):
        cells = (table.get(version, {}).get(commit.name, "") for version in plan.versions[1:])
        yield f"| `{commit.name}` | " + " | ".join(cells) + " |"


def _verdict_lines(plan: Plan, verdict: Verdict) -> Iterator[str]:
    if verdict.is_good and verdict.result:
        kept, dropped = len(verdict.result.kept), len(verdict.result.dropped)
        yield f"The series is on {plan.new} ({plan.date}): {kept} patches kept, {dropped} dropped."
    else:
        yield f"**The series fits, but the result does not hold** ({plan.date}): see below."
    yield ""
    notes = verdict.result.notes if verdict.result else ()
    yield from (f"- {note}" for note in notes or ["No patch was dropped."])
    added = verdict.result.added if verdict.result else ()
    yield from (f"- New in the release, to prune if it is there by mistake: `{o}`." for o in added)
    yield from ("", "## The result tried out", "", "| tried | result |", "|---|---|")
    for check in verdict.checks:
        yield f"| {check.name} | {'**FAILED**' if check.problem else check.note} |"
    for check in verdict.checks:
        if check.problem:
            yield from ("", f"{check.name}:", "", "```", check.problem.strip(), "```")
    if verdict.regression:
        yield from ("", "## Upstream's own tests", "", "```", verdict.regression.strip(), "```")


def _range_diff(folder: Folder, plan: Plan) -> list[str]:
    old, new = upstream_tag(plan.old), upstream_tag(plan.new)
    ranges = (f"{old}..{series_tag(plan.old)}", f"{new}..HEAD")
    options = ("--no-color", "--creation-factor=90")
    lines = folder.git.lines("range-diff", *options, *ranges) or ["(an empty series)"]
    omitted = len(lines) - _RANGE_DIFF_LINES
    return [*lines[:_RANGE_DIFF_LINES], *([f"... and {omitted} more lines"] if omitted > 0 else [])]

"""The one-page report of a rebase, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tools.rebase.replay import Conflict, Replay
from tools.rebase.trial import Verdict
from tools.regression import Kind, Report

__all__ = ["conflict_text", "regression_lines", "report_text"]

# A page; a longer range-diff is one to read in the repository.
_RANGE_DIFF_LINES = 160
# Undeclared differences listed by name.
_DIFFERENCES = 20


def conflict_text(conflict: Conflict) -> str:
    """Describe a conflict for its resolver: patch, file, hunk, and how to continue."""
    listed = "\n".join(f"  {place}" for place in conflict.places)
    paths = " ".join(dict.fromkeys(place.path for place in conflict.places))
    bases = f"upstream/{conflict.before.label} upstream/{conflict.step.label}"
    return f"""\
conflict: patches/{conflict.commit.name} does not fit upstream {conflict.step.label}
{listed}
On {conflict.step.label} so far: {", ".join(conflict.done) or "none"}. \
Still to come after this one: {conflict.left}.

To go on:
  1. cd .rebase/repo and edit away the marks: upstream's text is after <<<<<<<,
     what the patch was written on after |||||||, what the patch makes of it after =======
     what upstream changed there:  git diff {bases} -- {paths}
     what the patch does:          git show {conflict.commit.id[:12]}
  2. git add {paths}
  3. make rebase-continue
To drop the patch instead:  make rebase-continue DROP={conflict.commit.name}"""


def report_text(replay: Replay, outcome: Conflict | Verdict) -> str:
    """Return the report as it is now.

    Args:
        replay: the replay, finished or stopped.
        outcome: what stopped it, or what trying the result out has shown.
    """
    plan = replay.plan
    lines = [f"# Rebase from smolagents {plan.old} to {plan.new}", ""]
    if isinstance(outcome, Conflict):
        lines += [f"**Stopped by a conflict** on {outcome.step.label} ({plan.date}).", ""]
        lines += ["```", conflict_text(outcome), "```"]
    elif outcome.is_good and outcome.result:
        kept, dropped = len(outcome.result.kept), len(outcome.result.dropped)
        lines.append(
            f"The series is on {plan.new} ({plan.date}): {kept} patches kept, {dropped} dropped."
        )
    else:
        lines.append(f"**The series fits, but the result does not hold** ({plan.date}): see below.")
    lines += ["", "## Release by release", "", *_picks_table(replay)]
    if not isinstance(outcome, Conflict):
        source = f"upstream's tags in `{plan.upstream_git}`" if plan.upstream_git else "releases"
        notes = " ".join(outcome.result.notes) if outcome.result else ""
        notes = notes or "Nothing was dropped, nothing is pruned anew."
        lines += ["", f"Bases: {source}. {notes}", *_verdict_lines(outcome)]
    lines += ["", "## Range-diff", "", "```", *_range_diff(replay, outcome), "```"]
    return "\n".join(lines) + "\n"


def _picks_table(replay: Replay) -> Iterator[str]:
    steps = replay.plan.steps[1:]
    picks = [{pick.name: pick.outcome for pick in replay.picks(at)} for at in range(len(steps))]
    yield "| patch | " + " | ".join(step.label for step in steps) + " |"
    yield "|---|" + "---|" * len(steps)
    for commit in replay.series(replay.plan.steps[0]):
        cells = (one.get(commit.name, "") for one in picks)
        yield f"| `{commit.name}` | " + " | ".join(cells) + " |"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    yield from ("", "## The result tried out", "")
    if verdict.problem:
        yield from ("```", verdict.problem.strip(), "```", "")
    yield from (f"- lint: {text}" for text in verdict.lint)
    if verdict.wheel:
        yield from (f"Wheel: `{verdict.wheel}`.", "")
    if verdict.tests:
        yield from ("| tests of | passed | result |", "|---|---:|---|")
    for one in verdict.tests:
        name = f"`{one.patch}`" + (" (dropped)" if one.is_dropped else "")
        word = "good" if one.passed else "its tests are gone with it"
        yield f"| {name} | {one.passed} | {'**FAILED**' if one.problem else word} |"
    for one in verdict.tests:
        if one.problem:
            yield from ("", f"`{one.patch}`:", "", "```", one.problem, "```")
    if verdict.contract is not None:
        word = "**FAILED**" if verdict.contract else "good"
        yield from ("", f"Contract suite (without Docker and Deno): {word}.")
    if verdict.contract:
        yield from ("", "```", verdict.contract, "```")
    for name in verdict.redundant:
        yield f"- `{name}`: its tests pass without it; **retire it**"
    if verdict.regression is not None:
        yield from ("", *regression_lines(verdict.regression))
    elif not verdict.problem:
        yield from ("", "Upstream's own tests were not run (left out, or not reached).")


def regression_lines(report: Report) -> Iterator[str]:
    """Summarise the regression suite's report."""
    word = "**differences**" if report.exit_status else "no undeclared difference"
    differing = report.of(Kind.UNDECLARED)
    yield from (f"## Upstream's own tests: {word}", "")
    yield f"{len(report.comparisons)} tests; {report.ran} ran on upstream's release."
    yield from ("", "| outcome | tests |", "|---|---:|")
    yield from (f"| {kind.value} | {len(report.of(kind))} |" for kind in Kind)
    yield ""
    yield from (f"- differs: `{one.test}`" for one in differing[:_DIFFERENCES])
    if len(differing) > _DIFFERENCES:
        yield f"- and {len(differing) - _DIFFERENCES} more"
    yield from (f"- stale deviation: {text}" for text in report.stale)


def _range_diff(replay: Replay, outcome: Conflict | Verdict) -> list[str]:
    first, last = replay.plan.steps[0], replay.plan.steps[-1]
    if isinstance(outcome, Conflict):
        # HEAD is the last patch that was finished, below the started one.
        last = outcome.step
    ranges = (f"{first.base}..{first.series}", f"{last.base}..HEAD")
    options = ("--no-color", "--creation-factor=90")
    output = replay.git.run("range-diff", *options, *ranges, check=False).stdout
    lines = output.decode("utf-8", "replace").splitlines() or ["(an empty series)"]
    left = len(lines) - _RANGE_DIFF_LINES
    return [*lines[:_RANGE_DIFF_LINES], *([f"... and {left} more lines"] if left > 0 else [])]

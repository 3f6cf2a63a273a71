"""Run the hostile programs in ``local``, and mark those that only `process` stops.

    export PYTHONPATH=tests/cases                                     # for the commands below
    python tests/hostile/sort_programs.py                             # counts, changes nothing
    python tests/hostile/sort_programs.py type_proxies -v             # one family, with the faults
    python tests/hostile/sort_programs.py type_proxies::held-rexec    # one program
    python tests/hostile/sort_programs.py --reason 'numpy_memory=what a library does with memory'
    python tests/hostile/sort_programs.py --reason '*=one call of C'  # every family without its own
    python tests/hostile/sort_programs.py --quiet 'caught as an error of its line'
    python tests/hostile/sort_programs.py --back                      # those stopped again

``--reason`` writes ``# local: no <reason>`` above each program of the family that is not stopped.
``--quiet`` writes ``# ends: quietly <reason>`` where the only fault is that no error ended it.
``--back`` removes the header from programs that are stopped. The status is 1 while faults without
a header remain.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import hostile_harness
from hostile_harness import Program, Worker, local_faults

#: Number of programs in one child.
BATCH = 60
#: Seconds after which a program counts as hanging here; a test waits longer.
HANGS_SECONDS = 8.0
QUIET = "no error, and the program is not marked 'ends'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its status."""
    options = _parser().parse_args(arguments)
    reasons = dict(_reason(text) for text in options.reason)
    programs = _asked_for(options.what)
    # Programs with a header take the longest, and their result is known.
    faults = _run([p for p in programs if options.back or not p.local], options.verbose)
    headers: dict[Program, tuple[str, str]] = {}
    for program in programs:
        why = faults.get(program, "")
        reason = reasons.get(program.family) or reasons.get("*")
        if why == QUIET and options.quiet and not program.local:
            headers[program] = ("ends", f"quietly {options.quiet}")
        elif why and not program.local and reason:
            headers[program] = ("local", f"no {reason}")
        elif not why and program.local and options.back:
            headers[program] = ("local", "")
    for path in sorted({program.path for program in headers}):
        write_headers(path, {p: new for p, new in headers.items() if p.path == path})
    return 1 if _report(programs, faults, headers) else 0


def write_headers(path: Path, headers: dict[Program, tuple[str, str]]) -> None:
    """Set a header of programs in their file; an empty text removes it."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for program in sorted(headers, key=lambda p: -p.line):
        key, text = headers[program]
        # A file of the corpus is one program, its headers first.
        at = 0 if program.family == "corpus" else program.line
        end = at
        while end < len(lines) and re.match(r"# [a-z]+: ", lines[end]):
            end += 1
        kept = [line for line in lines[at:end] if not line.startswith(f"# {key}: ")]
        lines[at:end] = [f"# {key}: {text}\n", *kept] if text else kept
    path.write_text("".join(lines), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("what", nargs="*", help="families, or programs as FAMILY::NAME; else all")
    parser.add_argument("--reason", action="append", default=[], metavar="FAMILY=WHY")
    parser.add_argument("--quiet", metavar="WHY", help="mark what ends without an error")
    parser.add_argument("--back", action="store_true", help="unmark what holds again")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every fault")
    return parser


def _reason(text: str) -> tuple[str, str]:
    family, equals, why = text.partition("=")
    if not equals or len(why.split()) < 3:
        raise SystemExit(f"--reason {text!r}: give FAMILY=WHY, in three words or more")
    return family, why.strip()


def _asked_for(what: Sequence[str]) -> list[Program]:
    programs = hostile_harness.all_programs()
    unknown = set(what) - {p.family for p in programs} - {p.id for p in programs}
    if unknown:
        raise SystemExit(f"no such family or program: {', '.join(sorted(unknown))}")
    return [p for p in programs if not what or p.family in what or p.id in what]


def _run(programs: Sequence[Program], verbose: bool) -> dict[Program, str]:
    faults: dict[Program, str] = {}
    with Worker() as worker:
        for start in range(0, len(programs), BATCH):
            found = local_faults(worker, programs[start : start + BATCH], HANGS_SECONDS)
            faults.update(found)
            for program, why in found.items():
                if verbose:
                    print(f"{program.id}: {why}", flush=True)
    return faults


def _report(
    programs: Iterable[Program],
    faults: dict[Program, str],
    headers: dict[Program, tuple[str, str]],
) -> int:
    """Print counts by family; returns how many programs are at fault and have no header."""
    print(f"{'family':20} {'all':>5} {'local':>6} {'process':>8} {'moved':>6} {'open':>5}")
    totals = [0] * 5
    families: dict[str, list[Program]] = {}
    for program in programs:
        families.setdefault(program.family, []).append(program)
    for family, members in families.items():
        moved = sum(p in headers for p in members)
        left = sum(p in faults and not (p.local or p in headers) for p in members)
        outside = sum(
            headers[p][1] != "" if headers.get(p, ("",))[0] == "local" else bool(p.local)
            for p in members
        )
        row = [len(members), len(members) - outside, outside, moved, left]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        _print_row(family, row)
    _print_row("all", totals)
    return totals[-1]


def _print_row(family: str, row: list[int]) -> None:
    print("{:20} {:5} {:6} {:8} {:6} {:5}".format(family, *row))


if __name__ == "__main__":
    sys.exit(main())

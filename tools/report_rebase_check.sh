#!/usr/bin/env bash
# Opens the issue of a failed check, or comments on the one that is open already. Called by
# .github/workflows/rebase-check.yml with the check's name (rebase-check, the newest release, or
# drift-check, upstream's main) and exit status; needs gh.
set -euo pipefail
name=${1:?the name of the check}
status=${2:?the exit status of tools.rebase check}
report=reports/$name.md
target="newest release"
if [[ $name == drift-check ]]; then
    target="main"
fi
title="$name: the series does not go onto upstream's $target"
if [[ $status != 1 ]]; then
    title="$name: the check could not run (exit status $status)"
fi
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
    echo "Log: ${RUN_URL:-unknown}"
    echo
    # An issue holds 65,536 characters; the report is a page, a stray log may not be.
    if [[ -s $report ]]; then head -c 60000 "$report"; else echo "There is no $report."; fi
} >"$body"
open=$(gh issue list --state open --search "in:title \"$title\"" --json number --jq '.[0].number // empty')
if [[ -n $open ]]; then
    gh issue comment "$open" --body-file "$body"
else
    gh issue create --title "$title" --body-file "$body"
fi

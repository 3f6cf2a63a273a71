#!/usr/bin/env bash
# Opens the issue of a failed rebase-check, or comments on the one that is open already.
# Called by .github/workflows/rebase-check.yml with the exit status of the check; needs gh.
set -euo pipefail
status=${1:?the exit status of tools.rebase check}
report=reports/rebase-check.md
title="rebase-check: the series does not go onto upstream's newest release"
if [[ $status != 1 ]]; then
    title="rebase-check: the check could not run (exit status $status)"
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

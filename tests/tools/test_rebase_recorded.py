"""A rehearsal resolves conflicts from its records, and says which of them are out of date."""

from __future__ import annotations

from pathlib import Path

import pytest
from rebase_harness import Rebase, snapshot, tiny_tree

from buildsys.series import series_names
from tools.paths import PATCHES, ROOT

RECORDED = Path("tools") / "rebase" / "recorded"
BACK, FORWARD = "9.0.0-to-8.0.0", "8.0.0-to-9.0.0"
TEXT = """\
--- a/smolagents/agents.py
+++ b/smolagents/agents.py
@@ -9,1 +9,1 @@
 def close(thing):
-    thing.{method}()
+    if not thing.closed:
+        thing.{method}(){comment}
     return None
"""


@pytest.fixture
def old(rebase: Rebase) -> Rebase:
    """A series on 9.0.0 whose last patch changes a line that 8.0.0 has in other words."""
    rebase.publish("8.0.0", tiny_tree("8.0.0", ("    thing.close()\n", "    thing.shut()\n")))
    return rebase


def record(rebase: Rebase, step: str, method: str, comment: str = "", patch="close-twice") -> None:
    file = rebase.project.root / RECORDED / step / f"{patch}.patch"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TEXT.format(method=method, comment=comment))


def rehearse(rebase: Rebase) -> tuple[int, str]:
    """Rehearse; returns the exit status and the report."""
    before = snapshot(rebase.project)
    report = rebase.project.reports / "rehearsal.md"
    options = ("--skip-regression", "--skip-contract", "--borrow-packages")
    status, said = rebase("rehearse", "--since", "8.0.0", "--record", str(report), *options)
    assert report.is_file(), said
    assert snapshot(rebase.project) == before
    return status, report.read_text("utf-8")


@pytest.mark.network
def test_conflicts_are_resolved_from_records_in_both_directions(old):
    record(old, BACK, "shut")
    record(old, FORWARD, "close")
    status, report = rehearse(old)
    assert status == 0, report
    for step in (BACK, FORWARD):
        assert f"- Resolved from record: `{RECORDED}/{step}/close-twice.patch`." in report
    assert "- Byte for byte the patches of the repository afterwards." in report
    assert "| `close-twice.patch` | resolved |" in report


@pytest.mark.network
def test_other_bytes_and_records_that_are_not_needed_are_findings(old):
    record(old, BACK, "shut")
    record(old, FORWARD, "close", comment="  # once")
    record(old, FORWARD, "close", patch="total-of-none")
    status, report = rehearse(old)
    assert status == 1, report
    assert "- **Other bytes than in the repository**: `close-twice.patch`." in report
    unneeded = f"`{RECORDED}/{FORWARD}/total-of-none.patch`"
    assert f"- **Not needed any more**: {unneeded}; remove it." in report
    assert "Byte for byte" not in report


def test_record_that_no_longer_applies_ends_the_rehearsal(old):
    record(old, BACK, "close")  # 8.0.0 has another method
    status, report = rehearse(old)
    assert status == 2, report
    assert "**The rehearsal could not be carried out**: " in report
    assert f"{RECORDED}/{BACK}/close-twice.patch no longer applies to 8.0.0: " in report
    assert "Write the patch's text on 8.0.0 anew." in report


def test_conflict_without_record_is_reported(old):
    status, report = rehearse(old)
    assert status == 2, report
    assert "patches/close-twice.patch cannot be put on 8.0.0 by rule" in report


def test_records_are_of_patches_in_the_series():
    recorded = {file.name for file in (ROOT / RECORDED).glob("*/*")}
    assert recorded
    assert recorded <= set(series_names(PATCHES))

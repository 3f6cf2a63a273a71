"""``audit=``: the record of what runs, before it where it can be refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from contract_declarations import behaviour
from contract_parts import Counter

from smolagents_fork import Refused
from smolagents_fork.errors import AuditError


def events(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["event"], line["phase"]) for line in lines if line["event"] != "sandbox"]


@behaviour(
    "Control",
    "audit= records each run, call of a tool and file before and after it: code, seconds, outcome, "
    "size.",
)
def test_runs_calls_and_files_are_recorded(contract):
    lines: list[dict[str, Any]] = []
    executor = contract.make(audit=lines.append, files={"given.txt": b"1"})
    executor.send_tools({"counter": Counter(0)})
    lines.clear()
    executor("counter(1)")
    assert events(lines) == [
        ("run", "begin"),
        ("tool", "begin"),
        ("tool", "end"),
        ("run", "end"),
    ]
    begin, _, called, end = lines[-4:]
    assert begin["code"] == "counter(1)"
    assert begin["sha256"] == hashlib.sha256(b"counter(1)").hexdigest() == end["sha256"]
    assert begin["executor"] == type(executor).__name__
    assert called["name"] == "counter"
    for line in (called, end):
        assert line["outcome"] == "returned"
        assert line["seconds"] >= 0
    with pytest.raises(Exception, match="TypeError"):
        executor("counter('a')")
    assert [line["outcome"] for line in lines[-2:]] == ["failed", "failed"]
    assert "TypeError" in lines[-1]["error"]
    executor.put_file(b"123", "sent.txt")
    assert executor.get_file("sent.txt") == b"123"
    ends = [line for line in lines if (line["event"], line["phase"]) == ("file", "end")]
    assert [(line["action"], line["path"], line["bytes"]) for line in ends] == [
        ("put_file", "sent.txt", 3),
        ("get_file", "sent.txt", 3),
    ]


@behaviour("Control", "audit= records the code that ran instead, and refused code.")
def test_changes_and_refusals_are_recorded(contract):
    def before_run(run: Any) -> str | None:
        if "forbidden" in run.code:
            raise Refused("not here")
        return "kept = 2" if "kept = 1" in run.code else None

    def before_tool(_call: Any) -> None:
        raise Refused("not this tool")

    lines: list[dict[str, Any]] = []
    executor = contract.make(before_run=before_run, before_tool=before_tool, audit=lines.append)
    executor.send_tools({"counter": Counter(0)})
    executor("kept = 1")
    assert (lines[-2]["code"], lines[-2]["proposed_code"]) == ("kept = 2", "kept = 1")
    with pytest.raises(Exception, match="not here"):
        executor("forbidden")
    assert (lines[-1]["phase"], lines[-1]["code"]) == ("refused", "forbidden")
    assert "not here" in lines[-1]["error"]
    executor("try:\n    counter(1)\nexcept PermissionError:\n    pass")
    assert events(lines)[-3:] == [("run", "begin"), ("tool", "refused"), ("run", "end")]


@behaviour(
    "Control",
    "audit= writes complete lines of JSON to a file that only its owner can read; a run that "
    "cannot be recorded does not begin.",
)
def test_run_without_a_record_does_not_begin(contract, tmp_path):
    missing = tmp_path / "missing" / "audit.jsonl"
    with pytest.raises(AuditError) as caught:
        contract.make(audit=missing)
    assert str(caught.value) == (
        f"audit={str(missing)!r} cannot be written (FileNotFoundError: No such file or directory), "
        "and nothing runs without a record. Pass another path, or audit_required=False"
    )
    path = tmp_path / "audit.jsonl"
    executor = contract.make(audit=path)
    executor("kept = 'line\\nend'")
    assert path.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert events(lines) == [("run", "begin"), ("run", "end")]
    assert len({line["executor_id"] for line in lines}) == 1
    path.unlink()
    path.symlink_to("/dev/full")
    with pytest.raises(Exception, match=r"audit: the line about a run could not be written"):
        executor("kept = 2")
    path.unlink()
    assert executor("kept").output == "line\nend"


@behaviour("Control", "A run ends when a tool call cannot be recorded; the tool is not called.")
def test_run_ends_with_its_record(contract):
    def audit(line: dict[str, Any]) -> None:
        if line["event"] == "tool":
            raise OSError("the disk is full")

    counter = Counter(0)
    executor = contract.make(audit=audit)
    executor.send_tools({"counter": counter})
    code = "while True:\n    try:\n        counter(1)\n    except Exception:\n        pass"
    with pytest.raises(Exception, match=r"audit: the line about a tool .* the disk is full"):
        executor(code)
    assert counter.total == 0
    assert executor("6 * 7").output == 42


@behaviour("Control", "With audit_required=False, code runs even if it cannot be recorded.")
def test_record_may_be_incomplete(contract):
    def audit(_line: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    executor = contract.make(audit=audit, audit_required=False)
    executor.send_tools({"counter": Counter(0)})
    assert executor("counter(2)").output == 2


@behaviour("Control", "audit= records a sandbox before any code runs in it, and its end.")
def test_sandboxes_are_recorded(contract):
    lines: list[dict[str, Any]] = []
    executor = contract.make(audit=lines.append, files={"given.txt": b"1"})
    executor("kept = 1")
    executor.cleanup()
    sandboxes = [line for line in lines if line["event"] == "sandbox"]
    if contract.differs:
        assert sandboxes == []
        return
    begin, end = sandboxes
    assert lines[0] is begin
    assert lines[-1] is end
    assert begin["files"] == ["given.txt"]
    assert "timeout_seconds" in begin["measures"]
    assert (begin["phase"], end["phase"], end["reason"]) == ("begin", "end", "closed")

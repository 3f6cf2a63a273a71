"""Attacks on what the kernel counts for all processes of a user: the host and others go on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import user_counts
from few_watches import WATCHES
from process_harness import by_ordinary_user, in_container

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

#: A user for each attack, whom no other process of the machine has.
USERS = {
    "in_flight": 60_101,
    "shortage": 60_102,
    "watches": 60_103,
    "pipes": 60_104,
    "threads": 60_105,
    "signals": 60_106,
    "own_limits": 60_107,
    "descriptors": 60_108,
}


def attacked(name: str, folder: Path) -> Any:
    """Run an attack of ``user_counts`` as a user of its own."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become a user that nothing else of the machine is")
    run = by_ordinary_user([user_counts.__file__, name], folder, USERS[name])
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_descriptors_in_flight_stop_no_start(tmp_path: Path) -> None:
    found = attacked("in_flight", tmp_path)
    sent = [count for count, _ in found["attacks"]]
    # The attack is real: the kernel refuses a process with the limit of a child.
    assert sum(sent) > 300
    assert {text for _, texts in found["attacks"] for text in texts} == {
        "Too many references: cannot splice"
    }
    assert found["starts"] == [42] * 5
    assert found["restarted"] == 42
    assert found["limit"], "the host's own limit is as it was"


def test_shortage_is_named_and_waives_nothing(tmp_path: Path) -> None:
    found = attacked("shortage", tmp_path)
    advice = (
        "Too many references: cannot splice; close executors and try again, or raise the limit on "
        "descriptors in flight of the user (ulimit -Hn)"
    )
    assert f"child failed: {advice}" in found["of the child"]
    assert found["of the host"] == f"ExecutorStartError: the child cannot be started: {advice}"
    assert "allow_missing" not in str(found)
    assert found["others"] == [42, 42], "no fork server was ended"


def test_lower_limits_of_the_host_are_in_force_or_named(tmp_path: Path) -> None:
    found = attacked("own_limits", tmp_path)
    # Lower than what the executor asks for, so there is nothing to waive.
    assert found["400"] == "147 descriptors, 100000000 bytes a file"
    advice = (
        "Too many open files; close executors and try again, or raise the limit on open files "
        "(ulimit -n)"
    )
    assert found["30"] == "30 descriptors, 100000000 bytes a file"
    assert found["24"].startswith("ExecutorStartError: the fork server (process ")
    assert found["24"].endswith(f"could not start a child: {advice}")
    assert found["16"] == (
        "ExecutorStartError: the fork server did not start within 60.0 s: the fork server failed: "
        f"{advice}"
    )


def test_failed_starts_keep_no_descriptor(tmp_path: Path) -> None:
    found = attacked("descriptors", tmp_path)
    *errors, last = found["starts"]
    assert last == found["kept"] == 42
    assert 0 < len(errors) < 20
    assert set(errors) == {
        "the child cannot be started: Too many open files; close executors and try again, or raise "
        "the limit on open files (ulimit -n)"
    }


def test_watches_of_epoll_are_shared(tmp_path: Path) -> None:
    found = attacked("watches", tmp_path)
    counts = [count for count, _ in found["attacks"]]
    assert {refusal for _, refusal in found["attacks"]} == {"No space left on device"}
    # If all begin together each gets a fifth; if one after the other, half of what is left.
    share = WATCHES // 2 ** len(counts)
    assert WATCHES - sum(counts) > share * 9 // 10, "some are left"
    assert min(counts) > share * 9 // 10, "each has a share"
    assert found["neighbour"] == [["x", 42]]
    assert found["host"] == "runs"
    assert found["next"] == [["x", 42]], "what a child had ends with it"


def test_pipes_leave_those_of_others_their_size(tmp_path: Path) -> None:
    found = attacked("pipes", tmp_path)
    assert min(count for count, _ in found["attacks"]) >= 4
    # One that is far ahead of the others comes to its own limit on descriptors first.
    refusals = {text for _, texts in found["attacks"] for text in texts}
    assert refusals - {"Too many open files"} == {"Too many open files in system"}
    assert found["size"] == 65_536
    assert found["neighbour"] == [["x", 42]]


def test_threads_leave_the_host_its_own(tmp_path: Path) -> None:
    found = attacked("threads", tmp_path)
    assert 300 < sum(count for count, _ in found["attacks"]) < 450  # of ulimit -u 600
    assert "can't start new thread" in {refusal for _, refusal in found["attacks"]}
    assert found["host"] == [60]
    assert found["starts"] == [42, 42, 42]


def test_pending_signals_leave_the_host_its_own(tmp_path: Path) -> None:
    found = attacked("signals", tmp_path)
    queued = [int(text.split("/")[0]) for text in found["attacks"]]
    assert sum(queued) <= 128 * 1.1
    assert int(found["host"].split("/")[0]) >= 500
    assert found["starts"] == [42]


@pytest.mark.docker
@pytest.mark.parametrize("user", ["0:0", "1000:1000"], ids=["root", "ordinary user"])
def test_threads_leave_the_container_its_own(engine: Any, user: str) -> None:
    found = json.loads(
        in_container(engine, [user_counts.__file__, "tasks"], pids_limit=300, user=user)
    )
    assert sum(count for count, _ in found["attacks"]) < 225
    assert found["host"] == [40]
    assert found["starts"] == [42, 42, 42]

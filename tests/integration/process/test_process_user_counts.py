"""Attacks on what the kernel counts for all processes of a user: the host and others go on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from process_harness import by_ordinary_user, in_container

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

ATTACKS = str(Path(__file__).with_name("user_counts.py"))
#: Runs a test where neither pytest's configuration nor its cache is; it opens nothing by itself.
PYTEST = ["-m", "pytest", "-qs", "--disable-plugin-autoload", "-p", "no:cacheprovider",
          "-p", "no:faulthandler", "-c", os.devnull, "--rootdir=/", "--noconftest"]  # fmt: skip
#: A user for each attack, whom no other process of the machine has.
USERS = {
    "test_descriptors_in_flight_stop_no_start": 60_101,
    "test_shortage_is_named_and_waives_nothing": 60_102,
    "test_watches_of_epoll_are_shared": 60_103,
    "test_pipes_leave_those_of_others_their_size": 60_104,
    "test_threads_leave_the_host_its_own": 60_105,
    "test_pending_signals_leave_the_host_its_own": 60_106,
    "test_lower_limits_of_the_host_are_in_force_or_named": 60_107,
    "test_failed_starts_keep_no_descriptor": 60_108,
}


@pytest.mark.parametrize("name", USERS)
def test_attack_of_a_user(name: str, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to become a user that nothing else of the machine is")
    run = by_ordinary_user([*PYTEST, f"{ATTACKS}::{name}"], tmp_path, USERS[name])
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.docker
@pytest.mark.parametrize("user", ["0:0", "1000:1000"], ids=["root", "ordinary user"])
def test_threads_leave_the_container_its_own(engine: Any, user: str) -> None:
    arguments = [*PYTEST, f"{ATTACKS}::test_threads_leave_the_container_its_own"]
    run = in_container(engine, arguments, pids_limit=300, user=user)
    assert run.returncode == 0, run.stdout + run.stderr

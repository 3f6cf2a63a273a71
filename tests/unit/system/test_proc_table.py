"""Owners of sandboxes that are processes, where the table of processes is not complete."""

from __future__ import annotations

import os
import subprocess
import sys

from smolagents_fork.system.inventory import GONE, RUNNING
from smolagents_fork.system.proc_table import _owner_in


def test_owner_that_the_table_hides_runs():
    """As ``/proc`` with ``hidepid=2`` hides the processes of other users."""
    owner = _owner_in({}, os.getpid())
    assert (owner.pid, owner.state) == (os.getpid(), RUNNING)


def test_owner_that_has_ended_is_gone():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    for pid in (ended.pid, 0, -1):
        assert _owner_in({}, pid).state == GONE

"""SIGTERM ends a process that has sandboxes in order, and its forked children at once."""

from __future__ import annotations

import signal
import sys

import pytest
from background import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")

# The module's own functions at a fork come last: the child gets the signal before it may end.
PROGRAM = """
import os, signal, sys
parent = os.getpid()
def terminated():
    os.kill(os.getpid(), signal.SIGTERM)
os.register_at_fork(after_in_child=terminated)
from smolagents_fork.sandboxes.termination import exit_on_sigterm
{before}
exit_on_sigterm()
child = os.fork()
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
try:
    os.kill(parent, signal.SIGTERM)
except SystemExit as end:
    print(end.code)
"""


OWN_HANDLER = "signal.signal(signal.SIGTERM, lambda *_: print('own', flush=True))"
OWN_MASK = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})"
IGNORED = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        ("", [str(-signal.SIGTERM), "set()", str(128 + signal.SIGTERM)]),
        # First the child's.
        (f"{OWN_HANDLER}; {OWN_MASK}", ["own", "7", "{<Signals.SIGUSR1: 10>}", "own"]),
        (IGNORED, ["7", "set()"]),
    ],
    ids=["default", "handler and mask of the application", "ignored by the application"],
)
def test_forked_child_ends_by_a_signal_unless_the_application_handles_it(before, printed):
    assert run_python(PROGRAM.format(before=before)).splitlines() == printed


def test_fork_in_a_thread_gives_the_child_the_default():
    program = """
import os, signal, threading
from smolagents_fork.sandboxes.termination import exit_on_sigterm
exit_on_sigterm()
def forked():
    child = os.fork()
    if child == 0:
        os._exit(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
thread = threading.Thread(target=forked)
thread.start()
thread.join(60)
"""
    # Python 3.12 and later warn of forks beside threads, which are the matter here.
    switches = ("-W", "ignore::DeprecationWarning")
    assert run_python(program, switches=switches) == "1\nset()\n"

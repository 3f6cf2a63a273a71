"""Whose turn it is: a thread is not taken for one that had its number before."""

from __future__ import annotations

import threading

from background import running

from smolagents_fork.executors.turns import CallTurns


def same_number_after(thread, function):
    """Call ``function`` in a new thread that has the number of ``thread``, which has ended."""
    seen = []
    for _ in range(1000):
        new = threading.Thread(
            target=lambda: (
                seen.append(function()) if threading.get_ident() == thread.ident else None
            )
        )
        new.start()
        new.join(60)
        if seen:
            return seen[0]
    raise AssertionError("no thread was given that number again")


def test_thread_with_the_number_of_one_that_was_given_up():
    turns = CallTurns(lambda _action: None)
    given_up = threading.Thread(target=lambda: None)
    given_up.start()
    given_up.join(60)

    def call():
        with turns.turn("call"):
            return turns.is_mine([given_up])

    with turns.abandoned([given_up]):
        assert same_number_after(given_up, call) is False


def test_thread_that_was_given_up_gets_no_turn():
    turns = CallTurns(lambda _action: None)
    go = threading.Event()

    def call():
        me.append(threading.current_thread())
        assert go.wait(60)
        with turns.turn("call"):
            return "had it"

    me = []
    with running(call) as called:
        called.until(lambda: me)
        with turns.abandoned(me):
            go.set()
            assert "cancelled before it began" in str(called.error())

"""Whose turn it is: a thread is not taken for one that had its number before."""

from __future__ import annotations

import threading

from background import running

from smolagents_fork.executors.call_lock import CallLock


def test_thread_with_the_number_of_one_that_was_given_up():
    turns = CallLock(lambda _action: None)
    had = []

    def call():
        if threading.get_ident() == given_up.ident:
            with turns.turn("call"):
                had.append(turns.is_mine([given_up]))

    # The system mostly gives a number again at once; where another thread got it, another is tried.
    for _ in range(1000):
        given_up = threading.Thread(target=lambda: None)
        given_up.start()
        given_up.join(60)
        with turns.abandoned([given_up]):
            new = threading.Thread(target=call)
            new.start()
            new.join(60)
        if had:
            break
    assert had == [False]


def test_thread_that_was_given_up_gets_no_turn():
    turns = CallLock(lambda _action: None)
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

"""The thread of tools ends with its owner."""

from __future__ import annotations

import gc
import sys
import threading

from background import eventually

from smolagents_fork.bridge.thread import ToolThread


def started() -> tuple[ToolThread, threading.Thread]:
    tools = ToolThread()
    returned, thread = tools.run(threading.current_thread, 60, lambda: False)
    assert returned
    return tools, thread


def test_collected_tool_thread_runs_no_python_in_the_thread_that_collects():
    """A signal's handler that runs within a finalizer's Python code cannot raise."""
    tools, thread = started()
    gc.collect()
    events = []
    enabled = gc.isenabled()
    gc.disable()  # what other tests left has finalizers, too
    sys.setprofile(lambda frame, event, value: events.append((event, frame.f_code.co_name)))
    try:
        del tools
    finally:
        sys.setprofile(None)
        if enabled:
            gc.enable()
    assert [name for event, name in events if event == "call"] == []
    assert eventually(lambda: not thread.is_alive())


def test_closed_tool_thread_ends_and_the_next_function_gets_another():
    tools, thread = started()
    tools.close()
    assert eventually(lambda: not thread.is_alive())
    returned, other = tools.run(threading.current_thread, 60, lambda: False)
    assert returned
    assert other is not thread
    tools.close()
    tools.close()
    assert eventually(lambda: not other.is_alive())

"""Module for a test's fork server: its children may have few watches of epoll, not thousands."""

from __future__ import annotations

from smolagents_fork.process.restrictions import user_counts

WATCHES = 4000

with open("/proc/sys/fs/epoll/max_user_watches", encoding="ascii") as file:
    user_counts._WATCH_SHARE = int(file.read()) // WATCHES

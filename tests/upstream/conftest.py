"""Keeps the overlay for upstream's tests out of this repository's own test run.

Its conftest.py is meant for a scratch folder: it holds the test process off the network, and
declares plug-ins under names that only exist there.
"""

from __future__ import annotations

collect_ignore = ["overlay", "project"]

"""pip for a running kernel has a time limit, even if its index does not respond."""

from __future__ import annotations

import socket

import pytest

from smolagents_fork.jupyter.kernel.kernel_packages import add_packages


def test_index_that_accepts_and_says_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        settings = {
            "requirements": ["no-such-package-of-this-test"],
            "folder": str(tmp_path / "packages"),
            "environment": {"PIP_INDEX_URL": index, "PIP_EXTRA_INDEX_URL": ""},
            "seconds": 1,
            "limit": "build_timeout_seconds=1",
        }
        with pytest.raises(TimeoutError, match="pip took longer than build_timeout_seconds=1"):
            add_packages(settings, b"")

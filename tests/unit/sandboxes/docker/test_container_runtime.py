"""Requests to the engine, without an engine."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys

import pytest

from smolagents_fork.sandboxes import pip_settings
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.create_arguments import container_arguments, merged
from smolagents_fork.sandboxes.docker.images import image_plans
from smolagents_fork.sandboxes.docker.lifetime.labels import (
    LABEL,
    labels,
    owner_of,
)
from smolagents_fork.sandboxes.docker.streams.exec_stream import (
    ExecStream,
)
from smolagents_fork.sandboxes.process_owner import this_machine
from smolagents_fork.sandboxes.provisioner import SandboxSpec, SandboxStatus
from smolagents_fork.sandboxes.resource_limits import parse_size
from smolagents_fork.system.inventory import ELSEWHERE, GONE, RUNNING


@pytest.mark.parametrize(
    ("size", "expected"),
    [(5, 5), ("5", 5), ("2k", 2048), ("1.5g", 3 << 29), ("2GB", 2 << 30), ("x", None), (0, None)],
)  # fmt: skip
def test_sizes(size, expected):
    assert parse_size(size) == expected


def test_safe_by_default():
    arguments = container_arguments(SandboxSpec("image"), ContainerOptions(), "name", token="token")
    assert arguments["network_mode"] == "none"
    assert arguments["cap_drop"] == ["ALL"]
    assert arguments["read_only"] is True
    assert arguments["user"] == "1000:1000"
    assert arguments["mem_limit"] == arguments["memswap_limit"] == 2 << 30
    assert arguments["pids_limit"] == 256
    assert "ports" not in arguments
    assert arguments["environment"]["KG_IP"] == "127.0.0.1"


def test_users_arguments_are_merged_or_replace():
    base = {"environment": {"A": "1"}, "mem_limit": "1g", "network_mode": "none", "nano_cpus": 1}
    extra = {
        "environment": ["B=2=3"],
        "mem_limit": "2g",
        "network": "mine",
        "remove": True,
        "cpu_quota": 5,
    }
    assert merged(base, extra) == {
        "environment": {"A": "1", "B": "2=3"},
        "mem_limit": "2g",
        "network": "mine",
        "cpu_quota": 5,
    }


def test_labels_of_users_do_not_replace_those_that_name_the_owner():
    own = labels("name")
    for given in ({LABEL: "another:1:1", "mine": ""}, [LABEL, "mine"]):
        assert merged({"labels": own}, {"labels": given})["labels"] == {**own, "mine": ""}
    assert merged({"labels": own}, {"labels": None})["labels"] == own


def test_owner():
    assert owner_of(labels("name")).state == RUNNING
    assert owner_of({LABEL: "elsewhere:1:1"}).state == ELSEWHERE
    assert owner_of({LABEL: f"{this_machine()}:{os.getpid()}:1"}).state == GONE
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(120)
    assert owner_of({LABEL: f"{this_machine()}:{dead.pid}:1"}).state == GONE


def test_status_as_text():
    assert str(SandboxStatus("ended", 137, True, ("a", "b"))) == (
        "sandbox ended, exit code 137 (SIGKILL), out of memory: raise memory=, or use less; "
        "last log lines: a | b"
    )
    assert str(SandboxStatus("ended", 1)) == "sandbox ended, exit code 1; its log does not say why"
    assert str(SandboxStatus("ended", 1, log_missing="no streams")) == (
        "sandbox ended, exit code 1; the engine removed its log with it (no streams)"
    )


def frame(stream, data):
    return struct.pack(">BxxxL", stream, len(data)) + data


@pytest.mark.parametrize("step", [1, 3, 8, 1000])
def test_frames_of_the_engine_are_taken_apart_wherever_they_are_cut(step):
    raw = frame(1, b"hello ") + frame(2, b"to stderr") + frame(1, b"") + frame(1, b"world")
    near, far = socket.socketpair()
    with near, far:
        errors = bytearray()
        stream = ExecStream(near, errors.extend)
        stream.setblocking(False)
        got = b""
        for start in range(0, len(raw), step):
            far.sendall(raw[start : start + step])
            while True:
                try:
                    piece = stream.recv(4)
                except BlockingIOError:
                    break
                got += piece
        far.shutdown(socket.SHUT_WR)
        assert stream.recv(4) == b""
    assert got == b"hello world"
    assert errors == b"to stderr"


def test_tag_depends_on_content_and_on_nothing_else(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@example.com/simple")
    one = image_plans.plan(base_image="a", requirements=["x"])
    assert one == image_plans.plan(base_image="a", requirements=["x"])
    assert one.tag != image_plans.plan(base_image="b", requirements=["x"]).tag
    assert one.tag != image_plans.plan(base_image="a", requirements=["y"]).tag
    assert one.base is not None
    assert one.base.tag == image_plans.plan(base_image="a").tag
    assert "secret" not in str(one)


def test_base_image_from_the_environment(monkeypatch):
    monkeypatch.setenv(image_plans.BASE_IMAGE_VARIABLE, "from-environment")
    assert image_plans.plan().base == image_plans.ImagePlan("from-environment")
    monkeypatch.delenv(image_plans.BASE_IMAGE_VARIABLE)
    assert image_plans.plan().base == image_plans.ImagePlan("python:3.12-slim")


def test_local_folders_of_pip_are_not_passed_to_the_builder(monkeypatch):
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///somewhere https://example.com/simple")
    monkeypatch.setenv("PIP_INDEX_URL", "file:///elsewhere")
    monkeypatch.delenv("PIP_TRUSTED_HOST", raising=False)
    assert pip_settings.index_settings() == {"PIP_EXTRA_INDEX_URL": "https://example.com/simple"}


SIGTERM = """
import signal
from smolagents_fork.sandboxes.termination import exit_on_sigterm
def own(*_): print("own")
for handler in (own, signal.SIG_IGN):
    signal.signal(signal.SIGTERM, handler)
    exit_on_sigterm()
    assert signal.getsignal(signal.SIGTERM) is handler
signal.signal(signal.SIGTERM, signal.SIG_DFL)
exit_on_sigterm()
signal.raise_signal(signal.SIGTERM)
"""


def test_sigterm_exits_only_where_nobody_has_said_what_it_does():
    ran = subprocess.run([sys.executable, "-c", SIGTERM], timeout=120, check=False)
    assert ran.returncode == 128 + signal.SIGTERM

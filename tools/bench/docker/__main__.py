"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.docker [--calls 200] [--starts 5] [--record]

Upstream's environment is made from the lock unless UPSTREAM_PYTHON names one. Both sides and the
floor run in one go, on the same base image; figures of different runs are not compared with one
another.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import docker

from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker.engine import connect

from ...paths import ROOT
from ..base_image import base_image
from ..machine import machine
from ..pristine import PristineError, checked_version, pristine_python
from ..runner import Benchmark, Measured
from . import upstream_side
from .fork_side import IMPORTS, run_fork
from .report import GOALS, notes, rows

#: Seconds upstream's half may take: it has no deadlines of its own.
UPSTREAM_SECONDS = 900.0


def measured(options: argparse.Namespace) -> Measured:
    """Everything the report is made of.

    Raises:
        ForkError: no engine, no image.
        PristineError: no upstream to compare with.
    """
    client = connect()
    try:
        base = base_image(client)
        python = os.environ.get("UPSTREAM_PYTHON") or pristine_python(
            ["docker"], ["numpy"], say=BENCHMARK.say
        )
        version = checked_version(python)
        BENCHMARK.say("building both images, where they are not there")
        build_upstream_image(client, base)
        image = DockerExecutor.setup(IMPORTS, progress=lambda _line: None)
        BENCHMARK.say(f"upstream's {version}")
        remove_upstream_containers(client)  # of a run that was killed: they hold the ports
        try:
            upstream = run_upstream(python, options)
        finally:
            remove_upstream_containers(client)
        BENCHMARK.say("the floor's and the fork's")
        floor, fork = run_fork(client, image, options.calls, options.starts, options.tool_calls)
    finally:
        client.close()
    results = {"floor": floor, "upstream": upstream, "fork": fork, "machine": machine()}
    return Measured(
        rows(results),
        about=f"base image `{base}`; upstream {version}; medians of one run",
        notes=notes(results),
        raw={name: results[name] for name in ("floor", "upstream", "fork")},
    )


def build_upstream_image(client: Any, base: str) -> None:
    """Upstream's image on the same base, so that the bases do not make the difference.

    Raises:
        PristineError: it could not be built.
    """
    ca = b""
    for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        if os.environ.get(variable):
            ca = Path(os.environ[variable]).read_bytes()
            break
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        content = {"Dockerfile": upstream_side.dockerfile(base).encode(), "ca.pem": ca}
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    context.seek(0)
    last = ""
    for event in client.api.build(
        fileobj=context, custom_context=True, tag=upstream_side.IMAGE, decode=True, rm=True
    ):
        last = event.get("stream") or last
        if "error" in event:
            raise PristineError(f"upstream's image could not be built: {event['error']}\n{last}")


def remove_upstream_containers(client: Any) -> None:
    """Remove what upstream's half has left; it has no lease, and its ports are fixed."""
    for container in client.containers.list(all=True, filters={"ancestor": upstream_side.IMAGE}):
        with contextlib.suppress(docker.errors.APIError):  # it is going already
            container.remove(force=True)


def run_upstream(python: str | Path, options: argparse.Namespace) -> Any:
    """Upstream's figures, from its own interpreter.

    Raises:
        PristineError: its half failed, or did not end.
    """
    command = [str(python), "-m", "tools.bench.docker.upstream_side"]
    command += [str(options.calls), str(options.starts)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=UPSTREAM_SECONDS,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PristineError(f"upstream's half did not end in {UPSTREAM_SECONDS:.0f} s") from None
    if done.returncode:
        raise PristineError(f"upstream's half failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


BENCHMARK = Benchmark(
    "docker",
    __doc__,
    GOALS,
    measured,
    {
        "calls": (200, "calls of 1+1"),
        "starts": (5, "cold starts"),
        "tool-calls": (10_000, "tool calls in one program"),
    },
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.run())

"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.docker [--upstream-python PYTHON] [--calls 200] [--starts 5] [--record]

Upstream's environment is made from the lock when none is named. Both sides and the floor run in one
go, on the same base image; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import docker

from smolagents_fork.errors import ForkError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker.engine import connect, image_id
from smolagents_fork.sandboxes.docker.images.image_plans import (
    BASE_IMAGE_VARIABLE,
    DEFAULT_BASE_IMAGE,
)

from ..machine import busy_words, machine
from ..pristine import PristineError, checked_version, pristine_python
from ..record import write_section
from . import upstream_side
from .fork_side import IMPORTS, bare_run, repeated, run_fork
from .report import table

HERE = Path(__file__).parent
# What .ci/run makes on a machine that reaches no registry.
LOCAL_BASE = "smolagents-fork-base:bookworm"
UPSTREAM_IMAGE = "smolagents-fork-bench-upstream"
#: Seconds upstream's half may take: it has no deadlines of its own.
UPSTREAM_SECONDS = 900.0


def main() -> int:
    """Run it; the exit code says whether every goal was reached."""
    options = arguments()
    try:
        results = measured(options)
    except (ForkError, PristineError) as error:
        print(f"bench-docker: {error}", file=sys.stderr)
        return 2
    text, reached = table(results)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench-docker.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.record:
        write_section("docker", text)
    print(text)
    return 0 if reached else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.docker", description=__doc__)
    parser.add_argument(
        "--upstream-python",
        default=os.environ.get("UPSTREAM_PYTHON"),
        help="interpreter of an environment with the pristine release (or UPSTREAM_PYTHON); "
        "without one it is made in build/bench",
    )
    parser.add_argument("--calls", type=int, default=200, help="calls of 1+1")
    parser.add_argument("--starts", type=int, default=5, help="cold starts")
    parser.add_argument("--tool-calls", type=int, default=10_000, help="in one program")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    return parser.parse_args()


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Everything the report is made of.

    Raises:
        ForkError: no engine, no image.
        PristineError: no upstream to compare with.
    """
    where = machine()
    if busy_words(where):
        say(f"WARNING: {busy_words(where)}")
    began = time.monotonic()
    client = connect()
    try:
        base = base_image(client)
        python = options.upstream_python or pristine_python(["docker"], ["numpy"], say=say)
        results: dict[str, Any] = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": where,
            "base_image": base,
            "upstream_version": checked_version(python),
        }
        say("building both images, where they are not there")
        build_upstream_image(client, base)
        image = DockerExecutor.setup(IMPORTS, progress=lambda _line: None)
        say("a bare container")
        results["bare"] = {"cold": repeated(lambda: bare_run(client, image), options.starts)}
        say(f"upstream's {results['upstream_version']}")
        remove_upstream_containers(client)  # of a run that was killed: they hold the ports
        try:
            results["upstream"] = run_upstream(python, options)
        finally:
            remove_upstream_containers(client)
        say("the fork's")
        results["fork"] = run_fork(options.calls, options.starts, options.tool_calls)
    finally:
        client.close()
    results["seconds"] = round(time.monotonic() - began, 1)
    return results


def say(line: str) -> None:
    """A line about what is being done, beside the table."""
    print(f"bench-docker: {line}", file=sys.stderr, flush=True)


def base_image(client: Any) -> str:
    """The base of both sides' images, and the environment set so that ours is built on it."""
    if not os.environ.get(BASE_IMAGE_VARIABLE) and image_id(client, LOCAL_BASE):
        os.environ[BASE_IMAGE_VARIABLE] = LOCAL_BASE
    return os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE


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
        fileobj=context, custom_context=True, tag=UPSTREAM_IMAGE, decode=True, rm=True
    ):
        last = event.get("stream") or last
        if "error" in event:
            raise PristineError(f"upstream's image could not be built: {event['error']}\n{last}")


def remove_upstream_containers(client: Any) -> None:
    """Remove what upstream's half has left; it has no lease, and its ports are fixed."""
    for container in client.containers.list(all=True, filters={"ancestor": UPSTREAM_IMAGE}):
        with contextlib.suppress(docker.errors.APIError):  # it is going already
            container.remove(force=True)


def run_upstream(python: str | Path, options: argparse.Namespace) -> Any:
    """Upstream's figures, from its own interpreter.

    Raises:
        PristineError: its half failed, or did not end.
    """
    command = [str(python), str(HERE / "upstream_side.py")]
    command += [str(options.calls), str(options.starts)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=UPSTREAM_SECONDS, cwd="/", check=False
        )
    except subprocess.TimeoutExpired:
        raise PristineError(f"upstream's half did not end in {UPSTREAM_SECONDS:.0f} s") from None
    if done.returncode:
        raise PristineError(f"upstream's half failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())

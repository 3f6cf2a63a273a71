"""Build images, print the table, write JSON; with ``--record`` also the page.

    python -m tools.bench.images [--rounds 2] [--record]

The floor is pip in a container of the same base, with the same cache: its own time, and what it
leaves. Floor and fork take turns in one run, after a round that fills the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import sys
import time
from typing import Any

import docker

from smolagents_fork.deadline import Deadline
from smolagents_fork.sandboxes.docker.engine import connect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.images.image_builder import ImageBuilder
from smolagents_fork.sandboxes.docker.images.image_definitions import image_folder
from smolagents_fork.sandboxes.docker.images.image_plans import (
    SCRIPT,
    ImagePlan,
    addressed,
    plan,
)
from smolagents_fork.sandboxes.provisioner import STEP

from ..base_image import base_image
from ..runner import Benchmark, Measured
from .report import GOALS, rows

FIVE = ("matplotlib", "numpy", "pandas", "pillow", "requests")
MORE = (*FIVE, "scipy")
BUILD_SECONDS = 1800.0


def measured(options: argparse.Namespace) -> Measured:
    """Everything the report is made of.

    Raises:
        ForkError: no engine, or a build failed.
    """
    client = connect()
    sides: dict[str, list[dict[str, Any]]] = {"floor": [], "fork": []}
    try:
        base = base_image(client)
        BENCHMARK.say("a round of pip alone that fills the cache")
        size = build_all(client, base, floor_plans)["base_bytes"]
        for number in range(options.rounds):
            for side, plans in (("floor", floor_plans), ("fork", fork_plans)):
                BENCHMARK.say(f"{side}'s, round {number + 1} of {options.rounds}")
                sides[side].append(build_all(client, base, plans))
    finally:
        client.close()
    more = sorted(set(MORE) - set(FIVE))
    return Measured(
        rows(sides["floor"], sides["fork"]),
        about=f"base image `{base}`, {size / 1e6:.0f} MB; best of {options.rounds}; five packages: "
        f"{', '.join(FIVE)}; one more: {', '.join(more)}",
        raw={"base_image": base, "base_bytes": size, **sides},
    )


def build_all(client: Any, base: str, plans: Any) -> dict[str, Any]:
    """Build the images on a new name of the base, so that none exists; remove them again.

    Returns:
        seconds of pip or of the build, and bytes on top of the base, by image.
    """
    repository, version = "smolagents-fork-bench-base", secrets.token_hex(8)
    name = f"{repository}:{version}"
    builder = ImageBuilder(
        client,
        EngineAddress.of(),
        report=lambda _line: None,
        ca_bundle=None,
        deadline=Deadline(BUILD_SECONDS),
    )
    builder.ensure(ImagePlan(base))
    client.api.tag(base, repository, version)
    made = [name]
    found: dict[str, Any] = {"base_bytes": client.api.inspect_image(name)["Size"]}
    try:
        for what, wanted in plans(name).items():
            seconds = timed_build(client, wanted)
            made.append(wanted.tag)
            size = client.api.inspect_image(wanted.tag)["Size"]
            found[what] = {"seconds": seconds, "bytes": size - found["base_bytes"]}
    finally:
        for tag in reversed(made):
            with contextlib.suppress(docker.errors.APIError):
                client.api.remove_image(tag)
    return found


def timed_build(client: Any, wanted: ImagePlan) -> float:
    """Build an image; return the seconds of the build, or of the step named pip in it."""
    marks: dict[str, float] = {}

    def report(line: str) -> None:
        if line.startswith(STEP):
            marks[line.removeprefix(STEP)] = time.perf_counter()

    started = time.perf_counter()
    builder = ImageBuilder(
        client,
        EngineAddress.of(),
        report=report,
        ca_bundle=None,
        deadline=Deadline(BUILD_SECONDS),
    )
    builder.ensure(wanted)
    if "pip" in marks:
        return marks["end of pip"] - marks["pip"]
    return time.perf_counter() - started


def fork_plans(base: str) -> dict[str, ImagePlan]:
    """Plan the fork's images: the core, with five packages, with one more."""
    return {
        "core": plan(base_image=base),
        "five": plan(base_image=base, requirements=FIVE),
        "more": plan(base_image=base, requirements=MORE),
    }


def floor_plans(base: str) -> dict[str, ImagePlan]:
    """Plan what pip alone makes of the same lists, and of the kernel and its gateway by name."""
    hashes = image_folder("jupyter").joinpath("requirements.txt").read_bytes()
    core = floor(base, "--no-deps --require-hashes -r list.txt", {"list.txt": hashes})
    five = floor(core, " ".join(FIVE))
    return {
        "core": core,
        "five": five,
        "more": floor(five, " ".join(MORE)),
        "by name": floor(base, "ipykernel jupyter_kernel_gateway"),
    }


def floor(
    base: str | ImagePlan, arguments: str, files: dict[str, bytes] | None = None
) -> ImagePlan:
    """One image that a single call of pip makes, with its time between two steps."""
    script = (
        "set -e\n[ -d /opt/floor ] || python3 -m venv /opt/floor\necho '==> pip'\n"
        f"/opt/floor/bin/python -m pip install {arguments}\necho '==> end of pip'\n"
    )
    on = ImagePlan(base) if isinstance(base, str) else base
    return addressed("smolagents-fork-bench", {SCRIPT: script.encode(), **(files or {})}, on)


BENCHMARK = Benchmark(
    "images", __doc__, GOALS, measured, {"rounds": (2, "builds of each image that count")}
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.run())

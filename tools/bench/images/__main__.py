"""Build images, print the table, write JSON; with ``--record`` also the page.

    python -m tools.bench.images [--rounds 2] [--record]

The floor is pip in a container of the same base, with the same cache: its own time, and what it
leaves. Floor and fork take turns in one run, after a round that fills the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import docker

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ForkError
from smolagents_fork.sandboxes.docker.engine import connect, image_id
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.images.image_builder import ImageBuilder
from smolagents_fork.sandboxes.docker.images.image_definitions import image_folder
from smolagents_fork.sandboxes.docker.images.image_plans import (
    BASE_IMAGE_VARIABLE,
    DEFAULT_BASE_IMAGE,
    SCRIPT,
    ImagePlan,
    addressed,
    plan,
)
from smolagents_fork.sandboxes.provisioner import STEP

from ..machine import busy_words, machine
from ..record import write_section
from .report import table

FIVE = ("matplotlib", "numpy", "pandas", "pillow", "requests")
MORE = (*FIVE, "scipy")
# What .ci/run makes on a machine that reaches no registry.
LOCAL_BASE = "smolagents-fork-base:bookworm"
BUILD_SECONDS = 1800.0


def main() -> int:
    """Run it; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.images", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="builds of each image")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    try:
        results = measured(options.rounds)
    except ForkError as error:
        print(f"bench-images: {error}", file=sys.stderr)
        return 2
    text, reached = table(results)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench-images.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.record:
        write_section("images", text)
    print(text)
    return 0 if reached else 1


def measured(rounds: int) -> dict[str, Any]:
    """Everything the report is made of.

    Args:
        rounds: builds of each image that count.

    Raises:
        ForkError: no engine, or a build failed.
    """
    where = machine()
    client = connect()
    try:
        named = os.environ.get(BASE_IMAGE_VARIABLE)
        base = named or (LOCAL_BASE if image_id(client, LOCAL_BASE) else DEFAULT_BASE_IMAGE)
        results: dict[str, Any] = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": where,
            "busy": busy_words(where),
            "base_image": base,
            "packages": {"five": FIVE, "more": MORE},
            "floor": [],
            "fork": [],
        }
        say("a round of pip alone that fills the cache")
        results["base_bytes"] = build_all(client, base, floor_plans)["base_bytes"]
        for number in range(rounds):
            for side, plans in (("floor", floor_plans), ("fork", fork_plans)):
                say(f"{side}'s, round {number + 1} of {rounds}")
                results[side].append(build_all(client, base, plans))
    finally:
        client.close()
    return results


def build_all(client: Any, base: str, plans: Any) -> dict[str, Any]:
    """Build the images on a new name of the base, so that none exists; remove them again.

    Returns:
        seconds of pip or of the build, and bytes on top of the base, by image.
    """
    name = f"smolagents-fork-bench-base:{secrets.token_hex(8)}"
    builder = ImageBuilder(
        client,
        EngineAddress.of(),
        report=lambda _line: None,
        ca_bundle=None,
        deadline=Deadline(BUILD_SECONDS),
    )
    builder.ensure(ImagePlan(base))
    repository, _, version = name.partition(":")
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


def say(line: str) -> None:
    """A line about what is being done, beside the table."""
    print(f"bench-images: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

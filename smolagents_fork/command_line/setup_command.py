"""Command ``setup``: what the first start would build or fetch, or what a cluster needs."""

from __future__ import annotations

import argparse
import time

from rich.console import Console

from ..executors import registry
from ..executors.administration import ClusterPreparation, Preparation
from .outcome import CommandOutcome, UsageError

__all__ = ["setup"]

_CLUSTER = "kubernetes"


def setup(arguments: argparse.Namespace) -> CommandOutcome:
    """Build or fetch what the first start of an executor would, or print a cluster's manifests."""
    if arguments.print != (arguments.executor == _CLUSTER):
        raise UsageError(
            "setup kubernetes changes no cluster: add --print, and apply the manifests that it "
            "writes"
            if arguments.executor == _CLUSTER
            else f"--print is for kubernetes: setup {arguments.executor} has no manifests"
        )
    if arguments.print:
        return _printed(arguments)
    started = time.monotonic()
    administration = registry.administration(arguments.executor)
    assert isinstance(administration, Preparation)
    made = administration.setup(arguments.packages)
    seconds = time.monotonic() - started

    def show(console: Console) -> None:
        console.print(f"{arguments.executor} is ready after {seconds:.1f} s: {made}")

    data = {"executor": arguments.executor, "ready": made, "seconds": round(seconds, 3)}
    return CommandOutcome(data, show)


def _printed(arguments: argparse.Namespace) -> CommandOutcome:
    if arguments.warm_pool and not arguments.image:
        raise UsageError("--warm-pool needs --image: the name of the pool's image in its registry")
    administration = registry.administration(_CLUSTER)
    assert isinstance(administration, ClusterPreparation)
    manifests = administration.manifests(
        arguments.namespace, arguments.image, arguments.warm_pool or None
    )
    dockerfile = administration.dockerfile(arguments.packages)
    context = administration.context()

    def show(console: Console) -> None:
        text = f"# The image, built in {context}:\n#\n"
        text += "".join(f"#   {line}".rstrip() + "\n" for line in dockerfile.splitlines())
        console.print(text + manifests, end="", soft_wrap=True)

    data = {"manifests": manifests, "dockerfile": dockerfile, "context": context}
    return CommandOutcome(data, show)

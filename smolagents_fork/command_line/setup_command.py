"""Command ``setup``: what the first start would build or fetch, or what a cluster needs."""

from __future__ import annotations

import argparse
import time

from rich.console import Console

from ..executors.administration import PREPARATIONS, cluster_files
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
        return _print_files(arguments)
    started = time.monotonic()
    artifact = PREPARATIONS[arguments.executor](arguments.packages)
    seconds = time.monotonic() - started

    def show(console: Console) -> None:
        console.print(f"{arguments.executor} is ready after {seconds:.1f} s: {artifact}")

    data = {"executor": arguments.executor, "ready": artifact, "seconds": round(seconds, 3)}
    return CommandOutcome(data, show)


def _print_files(arguments: argparse.Namespace) -> CommandOutcome:
    if arguments.warm_pool and not arguments.image:
        raise UsageError("--warm-pool needs --image: the name of the pool's image in its registry")
    files = cluster_files(
        arguments.namespace, arguments.image, arguments.warm_pool or None, arguments.packages
    )

    def show(console: Console) -> None:
        text = f"# The image, built in {files['context']}:\n#\n"
        text += "".join(f"#   {line}".rstrip() + "\n" for line in files["dockerfile"].splitlines())
        console.print(text + files["manifests"], end="", soft_wrap=True)

    return CommandOutcome(files, show)

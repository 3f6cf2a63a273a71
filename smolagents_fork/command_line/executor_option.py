"""Option ``--executor`` of upstream's console command: the hook of patch ``executor-option``."""

from __future__ import annotations

import argparse
import os

from ..executors.agents.selection import VARIABLE
from ..executors.registry import available_names

__all__ = ["parse_with_executor"]


def parse_with_executor(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Add ``--executor`` to upstream's options and parse the command line.

    The name goes into ``SMOLAGENTS_DEFAULT_EXECUTOR``, which every agent of the process obeys. An
    unknown name, or one for an agent without code, ends the program with exit code 2.
    """
    names = available_names()
    parser.add_argument(
        "--executor",
        metavar="NAME",
        choices=names,
        help=f"Where the agent's code runs: {', '.join(names)} (default: {VARIABLE}, else local)",
    )
    arguments = parser.parse_args()
    if arguments.executor is not None:
        if arguments.action_type != "code":
            parser.error(
                f"--executor {arguments.executor} is for --action-type code; an agent with "
                f"--action-type {arguments.action_type} runs no code"
            )
        os.environ[VARIABLE] = arguments.executor
    return arguments

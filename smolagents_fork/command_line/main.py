"""Command line of the fork: its commands, their options, and their exit codes."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence

from .._version import fork_revision, upstream_version
from ..errors import ForkError
from ..terminal import harmless
from .inventories import INVENTORIES
from .outcome import NOT_DONE, WRONG_USE, CommandOutcome, UsageError

__all__ = ["main"]

_INTERRUPTED = 130
_EPILOG = (
    "Exit code: 0 done (doctor: every executor asked for runs), 1 not, 2 wrong use. "
    "docs/command-line.md describes each command."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Arguments of the command line; ``None``: those of this process.

    Returns:
        the exit code.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    # Here, because some commands import smolagents, which takes seconds.
    module, name = options.command
    command: Callable[[argparse.Namespace], CommandOutcome] = getattr(
        importlib.import_module(f"{__package__}.{module}"), name
    )
    try:
        outcome = command(options)
        outcome.write(as_json=options.json)
        sys.stdout.flush()
        return outcome.code
    except UsageError as error:
        return _error(str(error), WRONG_USE, as_json=options.json)
    except ForkError as error:
        return _error(str(error), NOT_DONE, as_json=options.json)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Python would complain again when it flushes the closed stream at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_DONE


def _error(message: str, code: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": message}, indent=2))
    else:
        print(harmless(f"smolagents-fork: {message}"), file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smolagents-fork",
        description="See, prepare and clean up the sandboxes of the smolagents fork.",
        epilog=_EPILOG,
    )
    version = f"smolagents {upstream_version}+fork.{fork_revision}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, module: str, text: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=text, description=f"{text}.", epilog=_EPILOG)
        subparser.add_argument("--json", action="store_true", help="write JSON instead of text")
        subparser.set_defaults(command=(module, name))
        return subparser

    subparser = command("doctor", "doctor", "check which executors run here, and why others do not")
    subparser.add_argument(
        "executors",
        nargs="*",
        metavar="EXECUTOR",
        help="such as docker, process, wasm, local, e2b (default: the first four)",
    )

    def about_sandboxes(name: str, text: str) -> argparse.ArgumentParser:
        subparser = command(name, "sandbox_commands", text)
        subparser.add_argument(
            "--engine",
            choices=tuple(INVENTORIES),
            help="only sandboxes of this one (default: all; pods where there is a kubeconfig)",
        )
        subparser.add_argument(
            "--namespace",
            metavar="NAME",
            help="of pods (default: that of the kubeconfig's current context)",
        )
        return subparser

    about_sandboxes("ps", "list the sandboxes that exist now, of any owner")
    subparser = about_sandboxes("logs", "print the last lines of a sandbox's log")
    subparser.add_argument("id", metavar="ID", help="from ps; a container's name also")
    subparser.add_argument("--lines", type=_count, default=100, help="how many (default: 100)")
    subparser = about_sandboxes("kill", "end sandboxes at once; their state is lost")
    subparser.add_argument("ids", metavar="ID", nargs="+", help="from ps; a container's name also")
    command("images", "image_commands", "list the images that the fork has built")
    subparser = command(
        "gc",
        "image_commands",
        "remove the fork's containers whose owner is gone, and images that no container uses",
    )
    subparser.add_argument(
        "--dry-run", action="store_true", help="only list them, with their sizes"
    )
    subparser.add_argument("--yes", action="store_true", help="do not ask")
    subparser.add_argument(
        "--match",
        metavar="PATTERN",
        default="*",
        help="only names or ids that match this shell pattern",
    )
    subparser = command("setup", "setup_command", "build or fetch what the first start would")
    subparser.add_argument("executor", choices=("docker", "kubernetes", "wasm"))
    subparser.add_argument(
        "--packages",
        nargs="+",
        default=(),
        metavar="NAME",
        help="import names, as in additional_authorized_imports; a version may follow (numpy==2.1)",
    )
    subparser.add_argument(
        "--print",
        action="store_true",
        help="kubernetes: write the manifests for the cluster and the image's Dockerfile",
    )
    subparser.add_argument(
        "--namespace",
        default="smolagents-fork",
        metavar="NAME",
        help="kubernetes: of the sandboxes (default: smolagents-fork)",
    )
    subparser.add_argument(
        "--warm-pool", default="", metavar="NAME", help="kubernetes: write a warm pool, too"
    )
    subparser.add_argument(
        "--image", default="", metavar="NAME", help="kubernetes: of the warm pool"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}: pass a whole number above 0")
    return int(text)

"""Messages of failed builds: the output of the failed step, then its command, shortened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....deadline import Deadline
from ...provisioner import STEP

__all__ = ["builder_output", "engine_failure", "late_message", "step_failure"]

# The classic builder's last message when a RUN step fails; every engine's API has the same.
_RETURNED = re.compile(
    r"The command '(?:/bin/sh -c )?(?P<command>.*)' returned a non-zero code: (?P<code>\d+)\Z",
    re.DOTALL,
)
# Lines before the output of a step: the script's, and the builder's.
_STEP_BEGINS = re.compile(rf"{re.escape(STEP)}.*|\s*---> Running in \w+\s*")
_BUILDERS_OWN = re.compile(r"\s*---> |Removing intermediate container ")
_NO_DISTRIBUTION = re.compile(r"No matching distribution found for (\S+)")
_SHOWN_COMMAND_CHARS = 160


def step_failure(tag: str, command: str, code: int | str, lines: Sequence[str]) -> str:
    """Format the message of a step that has failed."""
    begins = [number for number, line in enumerate(lines) if _STEP_BEGINS.fullmatch(line)]
    output = builder_output(lines[begins[-1] + 1 :] if begins else lines)
    command = re.sub(r"\s+", " ", command)
    if len(command) > _SHOWN_COMMAND_CHARS:
        command = command[:_SHOWN_COMMAND_CHARS] + " ..."
    return (
        f"image {tag} could not be built{_hint(output)}; output of the step that failed:\n"
        f"{output or '(none)'}\n(exit code {code} of: {command})"
    )


def engine_failure(tag: str, failure: str, lines: Sequence[str]) -> str:
    """Format the message of the engine's build of a Dockerfile that has failed."""
    ended = _RETURNED.search(failure)
    if ended is not None:
        return step_failure(tag, ended["command"], ended["code"], lines)
    output = builder_output(lines)
    return f"image {tag} could not be built{_hint(output)}: {failure}\n{output}"


def late_message(tag: str, deadline: Deadline, lines: Sequence[str], *, verb: str = "built") -> str:
    """Format the message of a build or pull that was not done in time.

    Args:
        verb: what was not done.
    """
    todo = "check that its registry answers, or " if verb == "pulled" else ""
    return (
        f"image {tag} was not {verb} in build_timeout_seconds={deadline.seconds}; {todo}raise it "
        f"if it only needs longer. The last lines:\n{builder_output(lines) or '(no output)'}"
    )


def _hint(output: str) -> str:
    low = output.lower()
    if "certificate" in low:
        return "; behind a proxy that re-signs TLS, pass ca_bundle= (a PEM file)"
    if "connection broken" in low or "name resolution" in low:
        return (
            "; pip cannot reach its index: builds need a network, and PIP_INDEX_URL of this "
            "environment names another index"
        )
    unknown = _NO_DISTRIBUTION.search(output)
    if unknown is not None:
        return (
            f"; pip finds no {unknown[1]!r}: check spelling and version, and pass the name of the "
            "distribution where it differs from the import name"
        )
    return ""


def builder_output(lines: Sequence[str]) -> str:
    """Return ``lines`` without colours and without the builder's lines about its own work."""
    plain = [line.replace("\x1b[91m", "").replace("\x1b[0m", "") for line in lines]
    return "\n".join(line for line in plain if line.strip() and not _BUILDERS_OWN.match(line))

"""Messages of failed builds: the output of the failed step, then its command, shortened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...provisioner import STEP

__all__ = [
    "BASE_IMAGE_VARIABLE",
    "KEPT_LINES",
    "base_message",
    "builder_output",
    "failure_message",
    "installation_message",
]

BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"
#: Last lines of a build that its error may show.
KEPT_LINES = 40
# The classic builder's last message when a RUN step fails; every engine's API has the same.
_RETURNED = re.compile(
    r"The command '(?:/bin/sh -c )?(?P<command>.*)' returned a non-zero code: (?P<code>\d+)\Z",
    re.DOTALL,
)
_STEP_BEGINS = re.compile(r"\s*---> Running in \w+\s*\Z")
_BUILDERS_OWN = re.compile(r"\s*---> |Removing intermediate container ")
_NO_DISTRIBUTION = re.compile(r"No matching distribution found for (\S+)")
_SHOWN_COMMAND_CHARS = 160


def base_message(tag: str, base: str, failure: Exception) -> str:
    """Format the message of a build whose base image cannot be had.

    Args:
        tag: Tag of the image.
        base: name of its base.
        failure: Failure of the pull.
    """
    return (
        f"image {tag} could not be built: base image {base!r} cannot be pulled ({failure}); "
        f"pass base_image= or set {BASE_IMAGE_VARIABLE} to one that can be"
    )


def installation_message(tag: str, script: str, code: int, lines: Sequence[str]) -> str:
    """Format the message of a script that has failed.

    Args:
        tag: Tag of the image.
        script: name of the script.
        code: its exit code.
        lines: the last lines that it wrote.
    """
    begins = [number for number, line in enumerate(lines) if line.startswith(STEP)]
    said = builder_output(lines[begins[-1] + 1 :] if begins else lines)
    return (
        f"image {tag} could not be built{_hint(said)}; output of the step that failed:\n"
        f"{said or '(none)'}\n(exit code {code} of: {script})"
    )


def failure_message(tag: str, failure: str, lines: Sequence[str]) -> str:
    """Format the message of the engine's build of a Dockerfile that has failed.

    Args:
        tag: Tag of the image.
        failure: the engine's message.
        lines: the last lines of the build.
    """
    said = builder_output(_of_the_last_step(lines))
    ended = _RETURNED.search(failure)
    if ended is None:
        return f"image {tag} could not be built{_hint(said)}: {failure}\n{builder_output(lines)}"
    command = re.sub(r"\s+", " ", ended["command"])
    if len(command) > _SHOWN_COMMAND_CHARS:
        command = command[:_SHOWN_COMMAND_CHARS] + " ..."
    return (
        f"image {tag} could not be built{_hint(said)}; output of the step that failed:\n"
        f"{said or '(none)'}\n(exit code {ended['code']} of: {command})"
    )


def _hint(said: str) -> str:
    low = said.lower()
    if "certificate" in low:
        return "; behind a proxy that re-signs TLS, pass ca_bundle= (a PEM file)"
    if "connection broken" in low or "name resolution" in low:
        return (
            "; pip cannot reach its index: builds need a network, and PIP_INDEX_URL of this "
            "environment names another index"
        )
    unknown = _NO_DISTRIBUTION.search(said)
    if unknown is not None:
        return (
            f"; pip finds no {unknown[1]!r}: check spelling and version, and give the name of the "
            "distribution where it differs from the import name"
        )
    return ""


def _of_the_last_step(lines: Sequence[str]) -> Sequence[str]:
    """Select the output of the last step; all lines if its beginning is not among them."""
    begins = [number for number, line in enumerate(lines) if _STEP_BEGINS.match(line)]
    return lines[begins[-1] + 1 :] if begins else lines


def builder_output(lines: Sequence[str]) -> str:
    """Return ``lines`` without colours and without the builder's lines about its own work."""
    plain = [line.replace("\x1b[91m", "").replace("\x1b[0m", "") for line in lines]
    return "\n".join(line for line in plain if line.strip() and not _BUILDERS_OWN.match(line))

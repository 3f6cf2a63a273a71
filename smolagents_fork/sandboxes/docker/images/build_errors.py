"""Messages of failed builds: the output of the failed step, then its command, shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["BASE_IMAGE_VARIABLE", "builder_output", "failure_message"]

BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"
# The classic builder's last message when a RUN step fails; every engine's API has the same.
_RETURNED = re.compile(
    r"The command '(?:/bin/sh -c )?(?P<command>.*)' returned a non-zero code: (?P<code>\d+)\Z",
    re.DOTALL,
)
_STEP_BEGINS = re.compile(r"\s*---> Running in \w+\s*\Z")
_BUILDERS_OWN = re.compile(r"\s*---> |Removing intermediate container ")
_NO_DISTRIBUTION = re.compile(r"No matching distribution found for (\S+)")
_SHOWN_COMMAND_CHARS = 160


def failure_message(
    tag: str, arguments: Mapping[str, str], failure: str, lines: Sequence[str]
) -> str:
    """Format the message of a build that has failed.

    Args:
        tag: of the image.
        arguments: of the build.
        failure: the engine's message.
        lines: the last lines of the build.
    """
    base = arguments.get("BASE_IMAGE")
    low = failure.lower()
    missing = ("pull access denied", "manifest unknown", "not found: manifest", "no such host")
    if base and (any(text in low for text in missing) or "connection refused" in low):
        return (
            f"image {tag} could not be built: base image {base!r} cannot be pulled "
            f"({failure}); pass base_image= or set {BASE_IMAGE_VARIABLE} to one that can be"
        )
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

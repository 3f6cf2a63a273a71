"""A failed build in words: what the failed step said comes first, its command last and short."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["BASE_IMAGE_VARIABLE", "failure_message", "words_of"]

BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"
# How the classic builder ends when a RUN step does, as every engine's API gives it.
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
    """What to tell about a build that has failed.

    Args:
        tag: of the image.
        arguments: of the build.
        failure: the engine's word for it.
        lines: what was built and said last.
    """
    base = arguments.get("BASE_IMAGE")
    low = failure.lower()
    missing = ("pull access denied", "manifest unknown", "not found: manifest", "no such host")
    if base and (any(text in low for text in missing) or "connection refused" in low):
        return (
            f"image {tag} could not be built: base image {base!r} cannot be had "
            f"({failure}); pass base_image= or set {BASE_IMAGE_VARIABLE} to one that can"
        )
    said = words_of(_of_the_last_step(lines))
    ended = _RETURNED.search(failure)
    if ended is None:
        return f"image {tag} could not be built{_hint(said)}: {failure}\n{words_of(lines)}"
    command = re.sub(r"\s+", " ", ended["command"])
    if len(command) > _SHOWN_COMMAND_CHARS:
        command = command[:_SHOWN_COMMAND_CHARS] + " ..."
    return (
        f"image {tag} could not be built{_hint(said)}; the step that failed said:\n"
        f"{said or '(nothing)'}\n(exit code {ended['code']} of: {command})"
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
            f"; pip finds no {unknown[1]!r}: see spelling and version, and give the distribution's "
            "name where the import has another"
        )
    return ""


def _of_the_last_step(lines: Sequence[str]) -> Sequence[str]:
    """What the step that ran last has said; all lines where its beginning is not among them."""
    begins = [number for number, line in enumerate(lines) if _STEP_BEGINS.match(line)]
    return lines[begins[-1] + 1 :] if begins else lines


def words_of(lines: Sequence[str]) -> str:
    """``lines`` without colours and what the builder says of its own work."""
    plain = [line.replace("\x1b[91m", "").replace("\x1b[0m", "") for line in lines]
    return "\n".join(line for line in plain if line.strip() and not _BUILDERS_OWN.match(line))

"""References to images, as the engine's grammar has them: ``[registry/]name[:tag][@digest]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....errors import ConfigurationError

__all__ = ["ImageReference", "parse_reference"]

# docker-py gives the registry to a credential helper before the engine sees the reference.
_WORDS = r"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*"
_PART = rf"{_WORDS}(?:\.{_WORDS})*"
_REPOSITORY = re.compile(rf"(?:(?:{_PART}|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DIGEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9:+._-]*")


@dataclass(frozen=True)
class ImageReference:
    """The parts of a reference.

    Attributes:
        repository: registry, if it names one, and name.
        tag: empty without one.
        digest: such as ``sha256:..``; empty without one.
    """

    repository: str
    tag: str
    digest: str

    @property
    def version(self) -> str:
        """The digest, the tag, or ``latest``: what calls take beside the repository."""
        return self.digest or self.tag or "latest"


def parse_reference(option: str, text: str) -> ImageReference:
    """Return the parts of a reference; what the engine refuses beyond that is its to say.

    Args:
        option: Option that names the image, for the error.
        text: the reference.

    Raises:
        ConfigurationError: a part is empty, or has a character that no reference has.

    Example:
        >>> parse_reference("image", "localhost:5000/a/b:v")
        ImageReference(repository='localhost:5000/a/b', tag='v', digest='')
    """
    name, at, digest = text.partition("@")
    # A colon before the last slash begins the port of a registry.
    path, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    repository = path + slash + last
    if (
        not _REPOSITORY.fullmatch(repository)
        or (colon and not _TAG.fullmatch(tag))
        or (at and not _DIGEST.fullmatch(digest))
    ):
        raise ConfigurationError(
            f"{option}={text!r} is not a reference to an image: give name:tag, after registry/ "
            "where it is not Docker's own"
        )
    return ImageReference(repository, tag, digest)

"""References to images, as the engine's grammar has them: ``[registry/]name[:tag][@digest]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....errors import ConfigurationError

__all__ = ["ImageReference", "parse_reference"]

# docker-py gives the registry to a credential helper before the engine sees the reference.
_WORDS = r"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*"
_PART = rf"{_WORDS}(?:\.{_WORDS})*"
_REGISTRY = rf"(?:{_PART}|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?P<repository>(?:{_REGISTRY}/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?"
    r"(?:@(?P<digest>[A-Za-z0-9][A-Za-z0-9:+._-]*))?"
)


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

    Raises:
        ConfigurationError: a part is empty, or has a character that no reference has.

    Example:
        >>> parse_reference("image", "localhost:5000/a/b:v")
        ImageReference(repository='localhost:5000/a/b', tag='v', digest='')
    """
    parts = _REFERENCE.fullmatch(text)
    if parts is None:
        raise ConfigurationError(
            f"{option}={text!r} is not a reference to an image: pass name:tag, or "
            "registry/name:tag for a registry that is not Docker's own"
        )
    return ImageReference(parts["repository"], parts["tag"] or "", parts["digest"] or "")

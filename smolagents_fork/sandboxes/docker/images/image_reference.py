"""References to images, as the engine's grammar has them: ``[registry/]name[:tag][@digest]``."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import ConfigurationError

__all__ = ["ImageReference", "parse_reference"]


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
    """Return the parts of a reference; which characters they may have is the engine's to say.

    Args:
        option: that names the image, for the error.
        text: the reference.

    Raises:
        ConfigurationError: it has no name, or an empty tag or digest.

    Example:
        >>> parse_reference("image", "localhost:5000/a/b:v")
        ImageReference(repository='localhost:5000/a/b', tag='v', digest='')
    """
    name, at, digest = text.partition("@")
    # A colon before the last slash begins the port of a registry.
    path, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    if not last or (colon and not tag) or (at and not digest):
        raise ConfigurationError(
            f"{option}={text!r} is not a reference to an image: give name:tag, after registry/ "
            "where it is not Docker's own"
        )
    return ImageReference(path + slash + last, tag, digest)

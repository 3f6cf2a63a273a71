"""Preparation of the image that an executor or a pool asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....errors import ConfigurationError
from ...provisioner import ImageSpec, Report
from ..engine import image_id, mapped_errors
from ..engine_address import EngineAddress
from . import image_plans
from .image_builder import ImageBuilder
from .image_reference import parse_reference

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["prepare_image"]


def prepare_image(
    client: DockerClient,
    address: EngineAddress,
    spec: ImageSpec,
    *,
    report: Report,
    rebuild: bool = False,
) -> str:
    """Pull or build the image unless the engine has it, and return its name.

    Args:
        client: docker-py client.
        address: Address of its engine.
        spec: Description of the image.
        report: takes one line at a time while something is built.
        rebuild: build again, without what was built before.

    Raises:
        ImageBuildError: a build failed, or the time ran out.
        ConfigurationError: an entry is not a requirement, or a name is not a reference.
    """
    image, name = spec.image, spec.image_name
    for option, text in (("image", image), ("base_image", spec.base_image)):
        if text:
            # Before it is part of an address of the engine's.
            parse_reference(option, text)
    reference = None if name is None else parse_reference("image_name", name)
    if reference is not None and reference.digest:
        raise ConfigurationError(
            f"image_name={name!r}: give a name and a tag; a digest names content that is there"
        )
    if image is None and name is not None and not spec.build_new_image:
        # Upstream's meaning of build_new_image=False: an existing image of that name is used.
        image = name if image_id(client, name) else None
    wanted = image_plans.plan(
        base_image=spec.base_image,
        dockerfile_content=spec.dockerfile_content if image is None else None,
        image=image,
        requirements=spec.requirements,
        with_smolagents=spec.with_smolagents,
    )
    if reference is not None and image is None and image_plans.is_address(str(name)):
        raise ConfigurationError(
            f"image_name={name!r}: names of this form say what is in an image of the fork, which "
            "other executors rely on; give another name"
        )
    tag = ImageBuilder(
        client,
        address,
        report=report,
        ca_bundle=spec.ca_bundle,
        deadline=Deadline(spec.build_timeout_seconds),
        rebuild=rebuild,
    ).ensure(wanted)
    if reference is not None and image is None:
        with mapped_errors("naming the image", image_name=name):
            client.api.tag(tag, reference.repository, reference.version)
    return tag

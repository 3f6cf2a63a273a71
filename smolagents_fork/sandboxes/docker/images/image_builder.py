"""Preparation of the image that an executor or a pool asks for: looked up, pulled or built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    ImageBuildError,
)
from ....folders.user_folder import locked_file, user_folder
from ...pip_settings import ca_bytes
from ...provisioner import BUILT, STEP, ImageSpec, Report
from ..engine import image_id, inspect_image, mapped_errors
from ..engine_address import EngineAddress
from .build_record import remove_unnamed
from .builds import Build, build_dockerfile, pull
from .image_plans import BASE_IMAGE_VARIABLE, DOCKERFILE, ImagePlan, is_address, plan
from .image_reference import parse_reference
from .installation import install, largest_part, public_form

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

    Raises:
        ImageBuildError: a build failed, or the time ran out.
        ExecutorStartError: an image to use as it is does not exist.
        ConfigurationError: an entry is not a requirement, a name is not a reference, or
            ``ca_bundle`` cannot be read.
    """
    image, name = spec.image, spec.image_name
    certificates = ca_bytes(spec.ca_bundle)  # not only when something is built
    for option, text in (("image", image), ("base_image", spec.base_image)):
        if text:
            # Before it is part of an address of the engine's.
            parse_reference(option, text)
    reference = None if name is None else parse_reference("image_name", name)
    if reference is not None and reference.digest:
        raise ConfigurationError(
            f"image_name={name!r}: pass a name and a tag; a digest names existing content"
        )
    if image is None and name is not None and not spec.build_new_image:
        # Upstream's meaning of build_new_image=False: an existing image of that name is used.
        image = name if image_id(client, name) else None
    image_plan = plan(
        base_image=spec.base_image,
        dockerfile_content=spec.dockerfile_content if image is None else None,
        image=image,
        requirements=spec.requirements,
        with_smolagents=spec.with_smolagents,
    )
    if reference is not None and image is None and is_address(str(name)):
        raise ConfigurationError(
            f"image_name={name!r}: names of this form identify images of the fork, which other "
            "executors rely on; pass another name"
        )
    deadline = Deadline(spec.build_timeout_seconds)
    _ensure(Build(client, address, report, deadline, certificates, rebuild), image_plan)
    if reference is not None and image is None:
        with mapped_errors("naming the image", image_name=name):
            client.api.tag(image_plan.tag, reference.repository, reference.version)
    return image_plan.tag


def _ensure(build: Build, image_plan: ImagePlan) -> None:
    """Build or pull an image unless the engine has it."""
    if not build.rebuild and image_id(build.client, image_plan.tag):
        return
    if not image_plan.files:
        pull(build, image_plan.tag)
        return
    if image_plan.base is not None:
        _ensure_base(build, image_plan.tag, image_plan.base)
    with _one_builder(build, image_plan.tag):
        # Another process may have built it while this one waited.
        if build.rebuild or not image_id(build.client, image_plan.tag):
            _build(build, image_plan)


def _ensure_base(build: Build, tag: str, base: ImagePlan) -> None:
    if not base.files and image_id(build.client, base.tag):
        return
    try:
        _ensure(build, base)
    except ExecutorStartError as error:
        if base.files or isinstance(error, (EngineUnavailableError, ImageBuildError)):
            raise
        raise ImageBuildError(
            f"image {tag} could not be built: base image {base.tag!r} cannot be pulled ({error}); "
            f"pass base_image= or set {BASE_IMAGE_VARIABLE} to one that can be"
        ) from None


@contextlib.contextmanager
def _one_builder(build: Build, tag: str) -> Iterator[None]:
    """Let one process of this user build ``tag`` at a time; no-op without file locks.

    Raises:
        ImageBuildError: another process builds it and was not done in time.
    """

    def waiting() -> None:
        build.report(f"{STEP}waiting for another process that builds {tag}")

    name = f"build-{tag.rpartition(':')[2]}.lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked_file(name, build.deadline, waiting))
        except TimeoutError:
            raise ImageBuildError(
                f"image {tag} is being built by another process of this user, which did not "
                f"finish in build_timeout_seconds={build.deadline.seconds} (lock: {name} in "
                f"{user_folder()})"
            ) from None
        yield


def _build(build: Build, image_plan: ImagePlan) -> None:
    begun = build.deadline.elapsed()
    build.begin(f"building {image_plan.tag}")
    start, replaced = "", image_id(build.client, image_plan.tag)
    if DOCKERFILE in image_plan.files:
        build_dockerfile(build, image_plan)
    else:
        start = image_plan.base.tag if image_plan.base is not None else ""
        if image_plan.requirements:
            if not build.rebuild:
                with mapped_errors("looking for images with some of the packages"):
                    start = largest_part(build.client, image_plan, start)
            build.begin(f"installing {', '.join(map(public_form, image_plan.requirements))}")
        install(build, image_plan, start)
    if replaced is not None:
        with mapped_errors("removing the image that was replaced", image=image_plan.tag):
            remove_unnamed(build.client, [replaced], prune=True)
    size, base_size = (
        (inspect_image(build.client, image) or {}).get("Size", 0) / 1e6
        for image in (image_plan.tag, start or image_plan.tag)
    )
    added = f", of which {size - base_size:.0f} MB are new" if start else ""
    seconds = build.deadline.elapsed() - begun
    build.report(f"{BUILT}{image_plan.tag} in {seconds:.1f} s, {size:.0f} MB{added}")

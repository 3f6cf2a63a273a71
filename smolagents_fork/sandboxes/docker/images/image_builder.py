"""Preparation of planned images on an engine: looked up, pulled, built or installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....errors import EngineUnavailableError, ExecutorStartError, ImageBuildError
from ...provisioner import BUILT, STEP, Report
from ..engine import image_id, mapped_errors
from ..engine_address import EngineAddress
from .build_errors import base_message
from .builder_lock import one_builder
from .builds import build, pull, remove_unnamed
from .image_plans import DOCKERFILE, ImagePlan
from .installation import install, largest_part, public_form

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["ImageBuilder"]


class ImageBuilder:
    """A builder of images on one engine.

    Args:
        client: docker-py client.
        address: Address of its engine.
        report: takes one line at a time while something is built.
        ca_bundle: PEM file that pip trusts during the build; ``None``: the one that ``PIP_CERT``,
            ``REQUESTS_CA_BUNDLE`` or ``SSL_CERT_FILE`` of the environment names.
        deadline: Deadline for pulling, building, and waiting for another process that builds the
            same.
        rebuild: build even if the engine has it, without what was built before.
    """

    def __init__(
        self,
        client: DockerClient,
        address: EngineAddress,
        *,
        report: Report,
        ca_bundle: str | os.PathLike[str] | None,
        deadline: Deadline,
        rebuild: bool = False,
    ) -> None:
        self._client = client
        self._address = address
        self._report = report
        self._ca_bundle = ca_bundle
        self._deadline = deadline
        self._rebuild = rebuild

    def ensure(self, wanted: ImagePlan) -> str:
        """Build or pull the image unless the engine has it; return its tag.

        Raises:
            ImageBuildError: a step failed, or the time ran out; has the builder's last lines.
            ExecutorStartError: an image to use as it is does not exist.
        """
        if not self._rebuild and image_id(self._client, wanted.tag):
            return wanted.tag
        if not wanted.files:
            pull(self._client, wanted.tag, self._report, self._deadline)
            return wanted.tag
        if wanted.base is not None:
            self._ensure_base(wanted.tag, wanted.base)
        with one_builder(wanted.tag, self._deadline, self._report):
            # Another process may have built it while this one waited.
            if self._rebuild or not image_id(self._client, wanted.tag):
                self._build(wanted)
        return wanted.tag

    def _ensure_base(self, tag: str, base: ImagePlan) -> None:
        if not base.files and image_id(self._client, base.tag):
            return
        try:
            self.ensure(base)
        except ExecutorStartError as error:
            if base.files or isinstance(error, (EngineUnavailableError, ImageBuildError)):
                raise
            raise ImageBuildError(base_message(tag, base.tag, error)) from None

    def _build(self, wanted: ImagePlan) -> None:
        begun = self._deadline.elapsed()
        self._report(f"{STEP}building {wanted.tag}")
        start, replaced = "", image_id(self._client, wanted.tag)
        if DOCKERFILE in wanted.files:
            build(
                self._client,
                self._address,
                wanted.tag,
                wanted.files,
                self._report,
                self._deadline,
                ca_bundle=self._ca_bundle,
                no_cache=self._rebuild,
            )
        else:
            start = self._install(wanted)
        if replaced is not None:
            remove_unnamed(self._client, [replaced])
        seconds = self._deadline.elapsed() - begun
        self._report(f"{BUILT}{wanted.tag} in {seconds:.1f} s, {self._size(wanted.tag, start)}")

    def _install(self, wanted: ImagePlan) -> str:
        """Run the plan's script; return the image that it ran on."""
        base = wanted.base.tag if wanted.base is not None else ""
        start = base
        if wanted.requirements and not self._rebuild:
            with mapped_errors("looking for images with some of the packages"):
                start = largest_part(self._client, wanted, base)
        if wanted.requirements:
            self._report(f"{STEP}installing {', '.join(map(public_form, wanted.requirements))}")
        install(
            self._client,
            self._address,
            wanted,
            start,
            report=self._report,
            ca_bundle=self._ca_bundle,
            deadline=self._deadline,
            rebuild=self._rebuild,
        )
        return start

    def _size(self, tag: str, start: str) -> str:
        with mapped_errors("asking for the size of the image", image=tag):
            size, of_start = (
                self._client.api.inspect_image(one)["Size"] / 1e6 if one else 0.0  # type: ignore[no-untyped-call]
                for one in (tag, start)
            )
        return f"{size:.0f} MB" + (f", of which {size - of_start:.0f} MB are new" if start else "")

"""Installation on an image: a script in a container, whose changes become one layer.

Only what the script leaves is in the layer. The engine's builder would need two stages for that: it
keeps the CA file and the index settings of the build otherwise. pip of the image itself decides
which wheels fit. It has no cache: a step that runs the code of packages must not write to what
other builds read.

The container ends when this process does, because its main process waits for the end of an input
that this process keeps open. The engine then removes it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorError, ImageBuildError
from ....system.forks import disconnect_in_child
from ...containers.listed_entries import read_entries
from ...pip_settings import index_settings
from ...provisioner import STEP
from ...removals import Removals
from ..engine import (
    API_TIMEOUT_SECONDS,
    image_id,
    inspect_image,
    mapped_errors,
    one_call_client,
)
from ..engine_address import EngineAddress
from ..lifetime.labels import labels
from ..lifetime.orphans import remove_container
from ..list_fields import entry_id, labels_of
from ..streams.exec_stream import run_lines
from ..streams.hijacking import attach
from .build_errors import late_message, step_failure
from .builds import Build, archive_files
from .image_plans import CONFIG, SCRIPT, ImagePlan, plan_addressed
from .image_reference import parse_reference

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = [
    "COMMENT",
    "PACKAGES_LABEL",
    "install",
    "largest_part",
    "public_form",
]

#: Labels of an image: the id of the image that packages were added to, and these packages.
CORE_LABEL, PACKAGES_LABEL = "smolagents-fork.core", "smolagents-fork.packages"
#: Begins the comment of an image, and its tag follows. Images that are made from it do not have it.
COMMENT = "smolagents-fork "
_FOLDER = "/smolagents-fork-build"
# The command of the script, whose arguments are the requirements. Its files are not in the image.
_RUN = f'exec 2>&1; cd {_FOLDER} && sh ./{SCRIPT} "$@" && cd / && rm -rf {_FOLDER}'
# Safe in a Dockerfile, too: without quotes, blanks or dollar signs.
_NAME_AND_VERSIONS = re.compile(
    r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]+\])?((==|!=|~=|<=|>=|<|>)[0-9][A-Za-z0-9.*+]*,?)*"
)
# The engine's storage allows some 125 layers.
_MOST_LAYERS = 60


def install(build: Build, image_plan: ImagePlan, start: str) -> None:
    """Run the script of a plan on an image, and give the result the plan's tag.

    Raises:
        ImageBuildError: the script failed, or the deadline passed.
        ExecutorStartError: the engine refuses the container.
    """
    client, deadline, certificates = build.client, build.deadline, build.certificates
    files = {**image_plan.files, **({"ca.pem": certificates} if certificates else {})}
    with mapped_errors("building the image", image=image_plan.tag):
        # The stub of docker-py has no types.
        base = client.api.inspect_image(start)["Config"] or {}  # type: ignore[no-untyped-call]
        with _container(client, build.address, start, base) as name:
            client.api.put_archive(name, "/", archive_files(files, _FOLDER.lstrip("/")))
            try:
                code = run_lines(
                    client.api,
                    name,
                    ["sh", "-c", _RUN, SCRIPT, *image_plan.requirements],
                    environment=_environment(build.address, with_certificates=bool(certificates)),
                    deadline=deadline,
                    line=build.take_line,
                )
            except ExecutorError:
                if not deadline.expired():
                    raise
                raise ImageBuildError(late_message(image_plan.tag, deadline, build.lines)) from None
            if code:
                raise ImageBuildError(step_failure(image_plan.tag, SCRIPT, code, build.lines))
            if not build.rebuild and image_id(client, image_plan.tag):
                return  # a builder of another user or machine was faster
            build.report(f"{STEP}saving the image")
            # docker-py sets no limit for this call.
            api = one_call_client(client.api, deadline.at_most(1e6))
            reference = parse_reference("image", image_plan.tag)
            core = image_id(client, image_plan.base.tag) if image_plan.base is not None else ""
            changes: Any = _instructions(base, image_plan, core or "")
            # Without an entrypoint here, the container's is copied.
            conf: Any = {"Entrypoint": []}
            api.commit(
                name,
                reference.repository,
                reference.version,
                message=f"{COMMENT}{image_plan.tag}",
                pause=False,
                changes=changes,
                conf=conf,
            )


def largest_part(client: DockerClient, image_plan: ImagePlan, base: str) -> str:
    """Return the image to add the packages of a plan to: the one with most of them already.

    Labels say only what to look for, because an image that anyone makes ``FROM`` such a one has
    them. What decides is a tag that is the address of exactly these packages on this base, and that
    the image begins with the layers of the base.

    Args:
        image_plan: plan with requirements.
        base: name of its base, which has none.
    """
    core = client.api.inspect_image(base)  # type: ignore[no-untyped-call]
    layers = core["RootFS"].get("Layers") or []
    needed = {public_form(requirement): requirement for requirement in image_plan.requirements}
    repository = image_plan.tag.rpartition(":")[0]

    def part(listed: Mapping[str, Any]) -> tuple[int, str] | None:
        packages = str(labels_of(listed).get(PACKAGES_LABEL, "")).split()
        if not packages or not set(packages) <= needed.keys():
            return None
        fewer = tuple(needed[package] for package in packages)
        tag = plan_addressed(repository, image_plan.files, image_plan.base, fewer).tag
        return (len(packages), entry_id(listed)) if tag in (listed.get("RepoTags") or ()) else None

    listed = client.api.images(filters={"label": f"{CORE_LABEL}={core['Id']}"})
    for _, image in sorted(read_entries("image", listed, part), reverse=True):
        report = inspect_image(client, image)
        if report is None:
            continue  # removed meanwhile
        its = report["RootFS"].get("Layers") or []
        if len(its) < _MOST_LAYERS and its[: len(layers)] == layers:
            return image
    return base


def public_form(requirement: str) -> str:
    """Return a requirement as anyone may read it: without blanks, or its digest.

    A name with versions is public. Text of any other form, such as an address, may have a password;
    equal texts have equal digests.
    """
    plain = "".join(requirement.split())
    if _NAME_AND_VERSIONS.fullmatch(plain):
        return plain
    return f"sha256:{sha256(requirement.encode()).hexdigest()[:32]}"


@contextlib.contextmanager
def _container(
    client: DockerClient, address: EngineAddress, image: str, config: Mapping[str, Any]
) -> Iterator[str]:
    """Run a container that ends with the block, or with this process."""
    name = f"smolagents-fork-build-{secrets.token_hex(8)}"
    removals = Removals(address)
    lease: socket.socket | None = None
    try:
        with removals.starting(name, functools.partial(remove_container, address, name)):
            container = client.containers.create(
                image,
                name=name,
                entrypoint=["cat"] if config.get("Entrypoint") else None,
                command=[] if config.get("Entrypoint") else ["cat"],
                # Standard input ends with its first connection; see create_arguments.
                stdin_open=True,
                detach=False,
                auto_remove=True,
                user="0:0",
                working_dir="/",
                labels=labels(name),
                use_config_proxy=False,
            )
            lease = attach(client, name, output=False, timeout=API_TIMEOUT_SECONDS)
            disconnect_in_child(lease)
            container.start()
        yield name
    finally:
        if lease is not None:
            lease.close()
        removals.remove(name, wait=True)


def _environment(address: EngineAddress, *, with_certificates: bool) -> dict[str, str]:
    """Return the variables of the script; those of a program in a container are in no image."""
    return {
        **_proxies(address),
        **index_settings(),
        **({"PIP_CERT": f"{_FOLDER}/ca.pem"} if with_certificates else {}),
        # Shared by several builds, a cache would be written by the code of packages of all tenants.
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _proxies(address: EngineAddress) -> dict[str, str]:
    """Return the proxies of the user's Docker configuration, as docker-py gives them to builds."""
    from docker.utils.config import load_general_config
    from docker.utils.proxy import ProxyConfig

    proxies = load_general_config().get("proxies", {})
    settings = proxies.get(address.url, proxies.get("default", {}))
    environment = ProxyConfig.from_dict(settings).get_environment()
    return {name: str(value) for name, value in environment.items()}


def _instructions(base: Mapping[str, Any], image_plan: ImagePlan, core: str) -> list[str]:
    """Return the configuration of the image: the plan's own, else that of its base.

    Args:
        base: configuration of the image that the container was made of.
        core: id of the image that the packages were added to.
    """
    if CONFIG in image_plan.files:
        lines = image_plan.files[CONFIG].decode().splitlines()
    else:
        # An empty ENTRYPOINT would be the container's.
        entrypoint = base.get("Entrypoint")
        lines = [
            *([f"ENTRYPOINT {json.dumps(entrypoint)}"] if entrypoint else []),
            f"CMD {json.dumps(base.get('Cmd') or [])}",
            f"WORKDIR {base.get('WorkingDir') or '/'}",
            *([f"USER {base['User']}"] if base.get("User") else []),
        ]
    if image_plan.requirements:
        # Whoever has the image can read its labels.
        packages = " ".join(public_form(requirement) for requirement in image_plan.requirements)
        lines += [f'LABEL {CORE_LABEL}="{core}"', f'LABEL {PACKAGES_LABEL}="{packages}"']
    return lines

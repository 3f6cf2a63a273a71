"""Check of an image by a pod that runs it once: the cluster can pull it, and what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packaging.requirements import Requirement

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ..provisioner import ImageSpec
from .api_client import ClusterClient
from .pod_start import await_running

__all__ = ["check_image"]

# Run as: python -I -c CHECK distribution... Ends with 3 after naming those that are missing.
_CHECK = """
import importlib.metadata,sys
missing=[]
for name in sys.argv[1:]:
    try: importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: missing.append(name)
if missing: print("missing:",*missing); sys.exit(3)
"""
_MISSING = 3


def check_image(
    client: ClusterClient,
    manifest: dict[str, Any],
    spec: ImageSpec,
    *,
    waiting: Callable[[str], None],
) -> None:
    """Run an image in a pod of its own.

    Args:
        client: Client of the cluster.
        manifest: Manifest of a pod with that image; changed to run the check. The caller removes
            the pod.
        spec: Description of the image.
        waiting: takes the cluster's words about a pod that waits.

    Raises:
        ExecutorStartError: the cluster cannot pull or run it, or a distribution is missing.
    """
    name, image = str(manifest["metadata"]["name"]), str(spec.image)
    names = [Requirement(requirement).name for requirement in spec.requirements]
    container = manifest["spec"]["containers"][0]
    container["command"] = ["python", "-I", "-c", _CHECK, *names]
    container["stdin"] = False
    client.create_pod(manifest)
    state = await_running(
        client,
        name,
        image,
        Deadline(spec.build_timeout_seconds),
        option="build_timeout_seconds",
        until_ended=True,
        waiting=waiting,
    )
    if state.exit_code == 0:
        return
    log = client.log_lines(name, 8)
    if state.exit_code == _MISSING and log and log[0].startswith("missing:"):
        raise ExecutorStartError(
            f"image {image!r} has no {log[0].removeprefix('missing: ')}, which the imports need: "
            "nothing is installed in a cluster, so build it into the image"
        )
    raise ExecutorStartError(f"image {image!r} does not run Python: {state.status(tuple(log))}")

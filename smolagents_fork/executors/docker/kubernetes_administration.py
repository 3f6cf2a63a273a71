"""Administration of sandboxes in a Kubernetes cluster: its checks, manifests and Dockerfile."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...distributions.requirements import requirements_for
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.docker.images.image_definitions import image_folder
from ...sandboxes.docker.images.image_plans import CONFIG, DEFAULT_BASE_IMAGE, SCRIPT
from ...sandboxes.kubernetes.cluster_manifests import cluster_manifests, yaml_of
from ...sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from ...system.checks import Check, Finding, ok
from ..administration import ClusterPreparation

__all__ = ["KubernetesAdministration"]

# Credentials may come from a program that the kubeconfig names.
_CLUSTER_SECONDS = 60.0
_FOLDER = "jupyter"
_FILES = (SCRIPT, "requirements.txt", "kernel_server.py")


class KubernetesAdministration(ClusterPreparation):
    """Administration of sandboxes in the cluster that the kubeconfig names."""

    def checks(self) -> Sequence[Check]:
        def cluster() -> Finding:
            provisioner = KubernetesEngine().connect(ContainerOptions())
            try:
                return ok(f"answers, with {len(provisioner.ours())} pods of this process")
            finally:
                provisioner.close()

        return (Check("cluster", cluster, _CLUSTER_SECONDS, needs="kubeconfig"),)

    def manifests(self, namespace: str, image: str, warm_pool: str | None) -> str:
        # Checks the names.
        KubernetesEngine(namespace=namespace, warm_pool=warm_pool)
        return yaml_of(cluster_manifests(namespace, image=image, warm_pool=warm_pool))

    def dockerfile(self, packages: Sequence[str]) -> str:
        config = image_folder(_FOLDER).joinpath(CONFIG).read_text("utf-8").rstrip()
        lines = [
            f"FROM {DEFAULT_BASE_IMAGE}",
            "WORKDIR /build",
            f"COPY {' '.join(_FILES)} ./",
            f"RUN sh {SCRIPT} && cd / && rm -rf /build",
        ]
        requirements = requirements_for(packages)
        if requirements:
            named = shlex.join(requirements)
            lines.append(f"RUN /opt/kernel/bin/python -m pip install --no-cache-dir -- {named}")
        return "\n".join([*lines, config, ""])

    def context(self) -> str:
        return str(image_folder(_FOLDER))

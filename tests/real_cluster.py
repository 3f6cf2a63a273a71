"""The cluster that ``tools.kubernetes_cluster`` has started for this run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubernetes import client, config, utils

from smolagents_fork.sandboxes.kubernetes.pod_manifest import cluster_manifests
from tools.kubernetes_cluster.cluster import NAMESPACE


class RealCluster:
    """The cluster, for an administrator.

    Args:
        folder: of the cluster's files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        loader: Any = config
        self._api = loader.new_client_from_config(str(self.admin))
        self.core = client.CoreV1Api(self._api)

    @property
    def admin(self) -> Path:
        """Kubeconfig of the administrator."""
        return self._folder / "admin.json"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the API server."""
        host, _, port = self._api.configuration.host.rpartition("//")[2].partition(":")
        return host, int(port)

    def kubeconfig(self, path: Path, port: int) -> Path:
        """Write the kubeconfig of the fork's account with another port of the API server.

        Args:
            path: of the file.
            port: on this machine.
        """
        written = json.loads((self._folder / "account.json").read_text())
        written["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path.write_text(json.dumps(written))
        return path

    def list_running(self, pid: int) -> list[str]:
        """Return the names of the running pods of a process."""
        return [
            pod.metadata.name
            for pod in self.core.list_namespaced_pod(NAMESPACE).items
            if pod.status.phase == "Running"
            and f":{pid}:" in pod.metadata.annotations["smolagents-fork/owner"]
        ]

    def create(self, manifest: dict[str, Any]) -> None:
        """Create an object."""
        create: Any = utils
        create.create_from_dict(self._api, manifest)

    @contextlib.contextmanager
    def namespace(self, name: str, *manifests: dict[str, Any]) -> Iterator[None]:
        """A prepared namespace of a test's own, with more objects in it.

        Its objects stay, since the cluster has no controller that would remove them.
        """
        for manifest in cluster_manifests(name, image=""):
            self.create(manifest)
        self.core.create_namespaced_service_account(name, {"metadata": {"name": "default"}})
        for manifest in manifests:
            manifest["metadata"]["namespace"] = name
            self.create(manifest)
        yield
        for pod in self.core.list_namespaced_pod(name).items:
            self.core.delete_namespaced_pod(pod.metadata.name, name, grace_period_seconds=0)

    def create_runtime_class(self, name: str, handler: str) -> None:
        """Create a ``RuntimeClass``."""
        body = {"metadata": {"name": name}, "handler": handler}
        client.NodeV1Api(self._api).create_runtime_class(body)

    @property
    def spare(self) -> Path:
        """Kubeconfig of the fork's account at an API server that a test may kill."""
        return self._folder / "spare.json"

    def kill_spare(self) -> None:
        """Kill that API server, which is started again."""
        os.kill(int((self._folder / "spare.pid").read_text()), signal.SIGKILL)

    def spare_answers(self) -> bool:
        """Tell whether that API server answers."""
        loader: Any = config
        with (
            contextlib.closing(
                loader.new_client_from_config(str(self._folder / "spare-admin.json"))
            ) as api,
            contextlib.suppress(Exception),
        ):
            client.CoreV1Api(api).read_namespace(NAMESPACE, _request_timeout=5)
            return True
        return False

    def close(self) -> None:
        """Close connections."""
        self._api.close()


def connect() -> RealCluster | None:
    """Return the run's cluster; ``None`` without one."""
    folder = os.environ.get("KUBERNETES_CLUSTER")
    return RealCluster(Path(folder)) if folder else None

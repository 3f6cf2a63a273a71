"""Checks of what executors on clusters need on this machine: packages, and a kubeconfig."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..system.checks import Check, Finding, failed, ok

__all__ = ["CLUSTERS", "cluster_named"]

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def _package(name: str) -> Finding:
    try:
        return ok(f"{name} {importlib.metadata.version(name)}")
    except importlib.metadata.PackageNotFoundError:
        return failed(f"the package {name} is not installed", f"pip install 'smolagents[{name}]'")


def cluster_named() -> str:
    """Return what names a cluster of Kubernetes to this process; empty without one."""
    named = os.environ.get("KUBECONFIG", "")
    paths = [Path(part) for part in named.split(os.pathsep) if part]
    for path in paths or [Path.home() / ".kube" / "config"]:
        if os.access(path, os.R_OK):
            return str(path)
    return "the service account of this pod" if _ACCOUNT.is_file() else ""


def _kubeconfig() -> Finding:
    if found := cluster_named():
        return ok(found)
    named = os.environ.get("KUBECONFIG", "")
    where = f"KUBECONFIG={named}" if named else "~/.kube/config"
    return failed(f"{where} cannot be read", "set KUBECONFIG to the file of your cluster")


#: Cluster -> its checks.
CLUSTERS: Mapping[str, Sequence[Check]] = {
    "kubernetes": (
        Check("package", lambda: _package("kubernetes")),
        Check("kubeconfig", _kubeconfig),
    ),
    "ray": (Check("package", lambda: _package("ray")),),
}

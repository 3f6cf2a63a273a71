"""One node of Kubernetes on this machine: etcd, API server, scheduler, and a kubelet.

The kubelet runs pods on the local Docker engine, so images of that engine are the cluster's. Pods
have an address on a bridge of their own, from which the machine drops every packet, as a network
policy does. Needs root. Processes end with the one that started them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from tools.command import Command, run
from tools.errors import CommandError, ToolError

from .binaries import ClusterUnavailable, cache_folder

__all__ = ["NAMESPACE", "KubernetesCluster"]

#: Namespace of the sandboxes.
NAMESPACE = "smolagents-fork"
_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:smolagents-fork"
_NEEDED = {
    "etcd": "etcd-server",
    "openssl": "openssl",
    "iptables": "iptables",
    "ip": "iproute2",
    "unshare": "util-linux",
}
_PLUGINS = Path("/usr/lib/cni")
_BRIDGE = "smolagents-k8s"
_SUBNET = "10.213.0.0/16"
# The apiserver reaches the kubelet by this name, on this machine only.
_NODE = "localhost"
_PAUSE_IMAGE = "smolagents-fork-pause:local"
_DAY_SECONDS = 86_400.0
_READY_SECONDS = 180.0
# For the end of another process's cluster on this machine.
_OTHER_SECONDS = 1800.0
_SHORT_SECONDS = 60.0
_POLL_SECONDS = 0.2
# Settings of the kernel that a kubelet writes. It gets copies: they are the whole machine's.
_WRITTEN = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
            "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")  # fmt: skip
# Run with: folder for copies, program and arguments.
_WITH_COPIES = """
set -e
mount --make-rprivate /proc
copies=$1; shift
for name in NAMES; do
    [ -e /proc/sys/$name ] || continue
    copy=$copies/$(echo $name | tr / -)
    cat /proc/sys/$name >$copy
    mount --bind $copy /proc/sys/$name
done
exec "$@"
"""


class KubernetesCluster(contextlib.ExitStack):
    """A cluster that runs until the end of the ``with`` block.

    Args:
        binaries: folder of :func:`.binaries.build`.
        keep_logs: folder for the programs' logs.

    Raises:
        ClusterUnavailable: a package is missing, or root.
        TimeoutError: another cluster runs on this machine for long.
        ToolError: this one did not start.
    """

    def __init__(self, binaries: Path, keep_logs: Path) -> None:
        super().__init__()
        self._binaries = binaries
        self._logs = keep_logs
        shutil.rmtree(keep_logs, ignore_errors=True)
        keep_logs.mkdir(parents=True)
        with contextlib.ExitStack() as started:
            # Each of two kubelets would remove the other's containers.
            lock = FileLock(cache_folder() / "cluster.lock", timeout=_OTHER_SECONDS)
            started.enter_context(lock)
            self.folder = Path(tempfile.mkdtemp(prefix="kubernetes-"))
            started.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self._start(started)
            self.push(started.pop_all())

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which clients find the cluster, with the account of the fork's Role."""
        return {
            "KUBECONFIG": str(self.folder / "account.json"),
            "KUBERNETES_CLUSTER": str(self.folder),
        }

    def _start(self, started: contextlib.ExitStack) -> None:
        missing = [package for program, package in _NEEDED.items() if not shutil.which(program)]
        if not (_PLUGINS / "bridge").exists():
            missing.append("containernetworking-plugins")
        if missing:
            raise ClusterUnavailable(
                f"a cluster needs the packages {' '.join(missing)}: install them"
            )
        if os.geteuid():
            raise ClusterUnavailable("a cluster needs root, for a kubelet's mounts and networks")
        etcd = self._start_etcd(started)
        self._write_accounts()
        self._start_api_server(started, etcd, "api")
        # For tests that kill it, while others use the first.
        self._start_api_server(started, etcd, "spare")
        self._prepare_namespace()
        self._start_scheduler(started)
        self._start_kubelet(started)
        self._wait(self._node_is_ready, "the node is not ready")

    def _start_program(self, started: contextlib.ExitStack, name: str, *words: str | Path) -> None:
        """Start a program that ends with this process, however that ends."""
        command = ["setpriv", "--pdeathsig", "KILL", "--", *words]
        log = self._logs / f"{name}.log"
        started.enter_context(Command(command, timeout_seconds=_DAY_SECONDS, log=log))

    def _start_etcd(self, started: contextlib.ExitStack) -> str:
        clients, peers = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
        self._start_program(
            started, "etcd", "etcd", "--data-dir", self.folder / "etcd",
            "--listen-client-urls", clients, "--advertise-client-urls", clients,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}",
        )  # fmt: skip
        return clients

    def _write_accounts(self) -> None:
        self._tokens = {"admin": secrets.token_hex(16), _ACCOUNT: secrets.token_hex(16)}
        groups = {"admin": "system:masters", _ACCOUNT: "system:serviceaccounts"}
        lines = [f'{word},{name},{name},"{groups[name]}"\n' for name, word in self._tokens.items()]
        (self.folder / "tokens.csv").write_text("".join(lines), "utf-8")
        run(
            ["openssl", "genrsa", "-out", self.folder / "accounts.key", "2048"],
            timeout_seconds=_SHORT_SECONDS,
        )

    def _start_api_server(self, started: contextlib.ExitStack, etcd: str, name: str) -> None:
        folder, port = self.folder, _free_port()
        names = {"api": ("admin.json", "account.json"), "spare": ("spare-admin.json", "spare.json")}
        for file, account in zip(names[name], ("admin", _ACCOUNT), strict=True):
            config = self._kubeconfig(name, port, self._tokens[account])
            (folder / file).write_text(json.dumps(config), "utf-8")
        words = (
            self._binaries / "kube-apiserver", "--etcd-servers", etcd,
            "--bind-address", "127.0.0.1", "--secure-port", str(port),
            "--cert-dir", folder / f"{name}-certificates",
            "--token-auth-file", folder / "tokens.csv", "--authorization-mode", "RBAC",
            "--service-cluster-ip-range", "10.96.0.0/24",
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", folder / "accounts.key",
            "--service-account-signing-key-file", folder / "accounts.key",
            # Nothing here takes the taint of a new node away again.
            "--disable-admission-plugins", "TaintNodesByCondition",
            "--kubelet-preferred-address-types", "Hostname",
        )  # fmt: skip
        script = f'while :; do "$@" & echo $! >{folder}/{name}.pid; wait $!; sleep 0.1; done'
        # Started again when a test ends it, as a node does with its cluster's API server.
        self._start_program(started, f"kube-{name}", "sh", "-c", script, "sh", *words)
        admin = folder / names[name][0]
        self._wait(lambda: self._answers(admin), "the API server does not answer")

    def _kubeconfig(self, name: str, port: int, token: str) -> dict[str, Any]:
        cluster = {
            "server": f"https://127.0.0.1:{port}",
            "certificate-authority": str(self.folder / f"{name}-certificates" / "apiserver.crt"),
        }
        context = {"cluster": "local", "user": "user", "namespace": NAMESPACE}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "local",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "local", "context": context}],
        }

    def client(self, config: Path | None = None) -> Any:
        """Return the official client, as administrator.

        Args:
            config: another kubeconfig.
        """
        from kubernetes import config as configuration

        loader: Any = configuration
        return loader.new_client_from_config(str(config or self.folder / "admin.json"))

    def _answers(self, config: Path) -> bool:
        from kubernetes.client import CoreV1Api

        with contextlib.closing(self.client(config)) as api:
            CoreV1Api(api).read_namespace("default", _request_timeout=5)
        return True

    def _node_is_ready(self) -> bool:
        from kubernetes.client import CoreV1Api

        with contextlib.closing(self.client()) as api:
            node: Any = CoreV1Api(api).read_node(_NODE, _request_timeout=5)
        conditions = [(condition.type, condition.status) for condition in node.status.conditions]
        return ("Ready", "True") in conditions

    def _prepare_namespace(self) -> None:
        """Apply what ``smolagents-fork setup kubernetes --print`` writes."""
        from kubernetes import utils
        from kubernetes.client import CoreV1Api

        from smolagents_fork.sandboxes.kubernetes.pod_manifest import cluster_manifests

        create: Any = utils
        with contextlib.closing(self.client()) as api:
            for manifest in cluster_manifests(NAMESPACE, image=""):
                create.create_from_dict(api, manifest)
            # A controller that this cluster does not have makes it in each namespace.
            account: Any = {"metadata": {"name": "default"}}
            CoreV1Api(api).create_namespaced_service_account(NAMESPACE, account)

    def _start_scheduler(self, started: contextlib.ExitStack) -> None:
        self._start_program(
            started, "kube-scheduler", self._binaries / "kube-scheduler",
            "--kubeconfig", self.folder / "admin.json", "--leader-elect=false",
            "--bind-address", "127.0.0.1", "--secure-port", "0", "--port", "0",
        )  # fmt: skip

    def _start_kubelet(self, started: contextlib.ExitStack) -> None:
        self._make_network(started)
        _make_pause_image()
        root, copies = self.folder / "kubelet", self.folder / "settings"
        for folder in (root, copies):
            folder.mkdir()
        # The engine sees the kubelet's mounts for pods.
        started.callback(_unmount, root)
        for words in (("--bind", root, root), ("--make-rshared", root)):
            run(["mount", *words], timeout_seconds=_SHORT_SECONDS)
        started.callback(_remove_containers)
        self._start_program(
            started, "kubelet", "unshare", "--mount", "--propagation", "unchanged",
            "sh", "-c", _WITH_COPIES.replace("NAMES", " ".join(_WRITTEN)), "sh", copies,
            self._binaries / "kubelet", "--kubeconfig", self.folder / "admin.json",
            "--root-dir", root, "--cert-dir", self.folder / "kubelet-certificates",
            "--hostname-override", _NODE, "--address", "127.0.0.1", "--port", str(_free_port()),
            "--read-only-port", "0", "--healthz-port", "0",
            "--anonymous-auth=true", "--authorization-mode", "AlwaysAllow",
            "--container-runtime", "docker", "--cgroup-driver", "cgroupfs",
            "--pod-infra-container-image", _PAUSE_IMAGE,
            "--network-plugin", "cni", "--cni-bin-dir", _PLUGINS,
            "--cni-conf-dir", self.folder / "network", "--cni-cache-dir", self.folder / "cni",
            "--cluster-dns", "10.96.0.10", "--cluster-domain", "cluster.local",
            # Limits of volumes in memory, which later versions have without it.
            "--feature-gates", "SizeMemoryBackedVolumes=true",
            "--hairpin-mode", "none", "--make-iptables-util-chains=false", "--fail-swap-on=false",
            # The images and the disk are the machine's.
            "--image-gc-high-threshold", "100", "--image-gc-low-threshold", "99",
            "--eviction-hard", "memory.available<50Mi",
        )  # fmt: skip

    def _make_network(self, started: contextlib.ExitStack) -> None:
        folder = self.folder / "network"
        folder.mkdir()
        addresses = {
            "type": "host-local",
            "subnet": _SUBNET,
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(self.folder / "addresses"),
        }
        plugin = {
            "cniVersion": "0.3.1",
            "name": "sandboxes",
            "type": "bridge",
            "bridge": _BRIDGE,
            "isGateway": True,
            "ipMasq": False,
            "ipam": addresses,
        }
        (folder / "sandboxes.conf").write_text(json.dumps(plugin), "utf-8")
        started.callback(_run_quietly, "ip", "link", "delete", _BRIDGE)
        for chain in ("INPUT", "FORWARD"):
            rule = (chain, "-i", _BRIDGE, "-j", "DROP")
            run(["iptables", "-w", "10", "-I", *rule], timeout_seconds=_SHORT_SECONDS)
            started.callback(_run_quietly, "iptables", "-w", "10", "-D", *rule)

    def _wait(self, ready: Callable[[], bool], problem: str) -> None:
        end = time.monotonic() + _READY_SECONDS
        error = ""
        while time.monotonic() < end:
            try:
                if ready():
                    return
            except Exception as caught:  # a server that starts answers with errors of many kinds
                error = f": {str(caught).splitlines()[0] if str(caught) else caught!r}"
            time.sleep(_POLL_SECONDS)
        raise ToolError(f"{problem} after {_READY_SECONDS:g} s{error}; its log is in {self._logs}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _make_pause_image() -> None:
    """Make the image of the container that has a pod's namespaces, without a registry."""
    base = os.environ.get("SMOLAGENTS_FORK_BASE_IMAGE", "")
    if not base:
        raise ClusterUnavailable("a cluster needs SMOLAGENTS_FORK_BASE_IMAGE, for its pods' pause")
    container = run(["docker", "create", base, "true"], timeout_seconds=_SHORT_SECONDS).strip()
    change = 'ENTRYPOINT ["sleep","infinity"]'
    try:
        commit = ["docker", "commit", "--change", change, container, _PAUSE_IMAGE]
        run(commit, timeout_seconds=_SHORT_SECONDS)
    finally:
        _run_quietly("docker", "rm", "-f", container)


def _remove_containers() -> None:
    """Remove the containers of the cluster's pods."""
    label = f"label=io.kubernetes.pod.namespace={NAMESPACE}"
    with contextlib.suppress(CommandError):
        listed = run(["docker", "ps", "-aq", "--filter", label], timeout_seconds=_SHORT_SECONDS)
        if listed.split():
            run(["docker", "rm", "-f", *listed.split()], timeout_seconds=_SHORT_SECONDS)


def _unmount(root: Path) -> None:
    """Unmount the kubelet's mounts below its folder, and the folder itself."""
    mounts = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    points = {line.split()[1] for line in mounts}
    for point in sorted((p for p in points if Path(p).is_relative_to(root)), reverse=True):
        _run_quietly("umount", "--lazy", point)


def _run_quietly(*words: str) -> None:
    with contextlib.suppress(CommandError):
        run(words, timeout_seconds=_SHORT_SECONDS)

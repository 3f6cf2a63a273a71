"""A Kubernetes API server whose pods are local containers, spoken to by the real client.

It speaks HTTP and WebSocket over TCP. Manifests are checked strictly, as a cluster's admission
does. Faults are injected by method and path; streams can be cut, and the server restarted.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import re
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import docker
import kubernetes_validate
from channel_server import ChannelServer

VERSION = "1.37"
NAMESPACE = "sandboxes"
#: Addresses that a container without a network cannot reach.
SERVICE = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
_MOUNT = "rw,nosuid,nodev,exec"


@dataclass
class Fault:
    """An answer in place of the server's own.

    Attributes:
        method: of the request.
        path: pattern that the path matches.
        status: of the answer; 0 closes the connection.
        message: in the answer's ``Status``.
        headers: of the answer.
        times: how often.
    """

    method: str
    path: str
    status: int
    message: str = "injected"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1


@dataclass
class Pod:
    """A pod: its manifest, its container, and what its status says besides.

    Attributes:
        manifest: as it was created.
        container: that runs it; ``None`` before, or if it cannot run.
        waiting: why it cannot run: reason and message.
        unscheduled: why it has no node.
        evicted: reason and message of its end.
        warnings: reason, message and seconds of repetition of its events.
    """

    manifest: dict[str, Any]
    container: Any = None
    waiting: tuple[str, str] = ("ContainerCreating", "")
    unscheduled: str = ""
    evicted: tuple[str, str] | None = None
    warnings: list[tuple[str, str, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])


class ClusterDouble:
    """The API server.

    Args:
        engine: docker-py's client, which runs the pods.
        tls: file with a key and a certificate; ``None``: plain HTTP.
    """

    def __init__(self, engine: Any, tls: Path | None = None) -> None:
        self.engine = engine
        self.token = secrets.token_hex(8)
        self.lock = threading.RLock()
        self._tls = tls
        self._connections: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self.pods: dict[str, Pod] = {}
        self._set_defaults()
        # Bound as long as this object lives, and never listening: while the server is down, no
        # other process is given its port.
        self._port = socket.socket()
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port.bind(("127.0.0.1", 0))
        self.port = self._port.getsockname()[1]
        self._listen()

    def _set_defaults(self) -> None:
        #: Custom resources by plural and name.
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self.faults: list[Fault] = []
        #: Requests that arrived: method and path.
        self.requests: list[tuple[str, str]] = []
        #: Variables that the cluster gives every container.
        self.service = dict(SERVICE)
        #: Called with each pod before its container is made.
        self.before_start: Callable[[Pod], None] = lambda pod: None
        #: Called with a custom resource that was created.
        self.created: Callable[[str, dict[str, Any]], None] = lambda plural, found: None
        #: Seconds after which the end of a container is in the status of its pod.
        self.lag = 0.0
        self.protocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io")

    def reset(self) -> None:
        """Remove all pods and injected faults, and start the server if it is down."""
        with self.lock:
            self._set_defaults()
            for name in list(self.pods):
                self.remove(name)
        if self._server is None:
            self.up()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def kubeconfig(self, path: Path, **changes: Any) -> Path:
        """Write a kubeconfig for this server."""
        cluster: dict[str, Any] = {"server": changes.get("server", self.url)}
        if self._tls:
            cluster["certificate-authority"] = str(changes.get("authority", f"{self._tls}.crt"))
        one = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "double",
            "clusters": [{"name": "double", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": changes.get("token", self.token)}}],
            "contexts": [
                {
                    "name": "double",
                    "context": {"cluster": "double", "user": "u", "namespace": NAMESPACE},
                }
            ],
        }
        path.write_text(json.dumps(one))
        return path

    def _listen(self) -> None:
        double = self

        class Handler(_Handler):
            cluster = double

        self._server = server = _Server(("127.0.0.1", self.port), Handler)
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._tls)
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def track(self, connection: socket.socket, there: bool) -> None:
        with self.lock:
            (self._connections.add if there else self._connections.discard)(connection)

    def cut(self) -> None:
        """Cut every connection, as the end of an API server does."""
        with self.lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def down(self) -> None:
        """End the server; pods run on."""
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        self.cut()

    def up(self) -> None:
        """Start it again on the same port."""
        self._listen()

    def close(self) -> None:
        """End the server and remove its pods."""
        if self._server is not None:
            self.down()
        self._port.close()
        with self.lock:
            for name in list(self.pods):
                self.remove(name)

    # -- pods --

    def add(self, manifest: dict[str, Any]) -> Pod:
        """Create a pod and start its container in the background."""
        kubernetes_validate.validate(manifest, VERSION, strict=True)
        pod = Pod(manifest)
        with self.lock:
            self.pods[pod.name] = pod
        # Here, because the first answer about the pod may come before the thread's first step.
        self.before_start(pod)
        threading.Thread(target=self._start, args=(pod,), daemon=True).start()
        return pod

    def _start(self, pod: Pod) -> None:
        if pod.unscheduled or pod.waiting[0] != "ContainerCreating":
            return
        try:
            container = self._container(pod)
        except docker.errors.ImageNotFound as error:
            words = f"Back-off pulling image: {error.explanation}"
            pod.waiting = ("ImagePullBackOff", words)
            return
        except docker.errors.APIError as error:
            pod.waiting = ("CreateContainerError", str(error.explanation))
            return
        with self.lock:
            there = self.pods.get(pod.name) is pod
            if there:
                pod.container = container
        if not there:
            container.remove(force=True)

    def _container(self, pod: Pod) -> Any:
        spec = pod.manifest["spec"]
        one = spec["containers"][0]
        security = spec["securityContext"]
        volumes = {volume["name"]: volume["emptyDir"] for volume in spec["volumes"]}
        tmpfs = {
            # With owner and group, which the engine otherwise takes from the image's folder.
            mount["mountPath"]: f"{_MOUNT},uid={security['runAsUser']},gid={security['fsGroup']},"
            f"size={volumes[mount['name']]['sizeLimit']}"
            for mount in one["volumeMounts"]
        }
        limits = one["resources"]["limits"]
        container = self.engine.containers.create(
            one["image"],
            entrypoint=one["command"],
            command=[],
            # Several clusters of one engine have pods of the same name.
            name=f"double-{pod.name}-{secrets.token_hex(4)}",
            environment={**self.service, **{e["name"]: e["value"] for e in one["env"]}},
            user=f"{security['runAsUser']}:{security['runAsGroup']}",
            working_dir=one["workingDir"],
            tmpfs=tmpfs,
            read_only=one["securityContext"]["readOnlyRootFilesystem"],
            cap_drop=one["securityContext"]["capabilities"]["drop"],
            security_opt=["no-new-privileges:true"],
            network_mode="none",
            stdin_open=one.get("stdin", False),
            # As stdinOnce: false: the input stays open when an attachment ends.
            detach=True,
            mem_limit=int(limits["memory"]) if "memory" in limits else None,
            memswap_limit=int(limits["memory"]) if "memory" in limits else None,
            nano_cpus=int(limits["cpu"][:-1]) * 10**6 if "cpu" in limits else None,
        )
        container.start()
        return container

    def remove(self, name: str) -> bool:
        """Delete a pod, with its container."""
        with self.lock:
            pod = self.pods.pop(name, None)
        if pod is not None and pod.container is not None:
            with contextlib.suppress(docker.errors.APIError):
                pod.container.remove(force=True)
        return pod is not None

    def described(self, pod: Pod) -> dict[str, Any]:
        """Return a pod as the API describes it."""
        spec = dict(pod.manifest["spec"])
        status: dict[str, Any] = {"phase": "Pending"}
        if pod.unscheduled:
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": pod.unscheduled,
                }
            ]
        else:
            spec["nodeName"] = "node-1"
            status |= {"hostIP": "10.1.2.3", "hostIPs": [{"ip": "10.1.2.3"}]}
            state = self._container_state(pod)
            status["containerStatuses"] = [{"name": spec["containers"][0]["name"], "state": state}]
            if "running" in state:
                status["phase"] = "Running"
            elif "terminated" in state:
                status["phase"] = "Failed" if state["terminated"]["exitCode"] else "Succeeded"
        if pod.evicted:
            status |= {"phase": "Failed", "reason": pod.evicted[0], "message": pod.evicted[1]}
        return {**pod.manifest, "spec": spec, "status": status}

    def _container_state(self, pod: Pod) -> dict[str, Any]:
        if pod.container is None:
            return {"waiting": {"reason": pod.waiting[0], "message": pod.waiting[1]}}
        try:
            state = self.engine.api.inspect_container(pod.container.id)["State"]
        except docker.errors.NotFound:
            return {"waiting": {"reason": "ContainerCreating", "message": ""}}
        if state["Running"] or time.time() - _seconds(state["FinishedAt"]) < self.lag:
            return {"running": {"startedAt": state["StartedAt"]}}
        if state["Status"] == "created":
            return {"waiting": {"reason": "ContainerCreating", "message": ""}}
        reason = "OOMKilled" if state["OOMKilled"] else "Error"
        ended = {"exitCode": state["ExitCode"], "reason": reason, "finishedAt": _now()}
        return {"terminated": ended}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing about clients that close connections."""


class _Handler(BaseHTTPRequestHandler):
    cluster: ClusterDouble
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.cluster.track(self.connection, True)

    def finish(self) -> None:
        self.cluster.track(self.connection, False)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        text = isinstance(body, bytes)
        data = body if text else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        body = {"kind": "Status", "status": "Failure", "message": message, "code": status}
        self._answer(status, body, headers)

    def _serve(self) -> None:
        path = urlsplit(self.path).path
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else {}
        with self.cluster.lock:
            self.cluster.requests.append((self.command, path))
            fault = next(
                (
                    f
                    for f in self.cluster.faults
                    if f.times > 0 and f.method == self.command and re.search(f.path, path)
                ),
                None,
            )
            if fault is not None:
                fault.times -= 1
        if fault is not None and not fault.status:
            self.close_connection = True
            return
        if fault is not None:
            self._refuse(fault.status, fault.message, fault.headers)
        elif self.headers.get("Authorization") != f"Bearer {self.cluster.token}":
            self._refuse(401, "Unauthorized")
        else:
            self._route(path, body)

    do_GET = do_POST = do_DELETE = do_PATCH = _serve

    def _route(self, path: str, body: dict[str, Any]) -> None:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[:3] == ["api", "v1", "namespaces"] and parts[4:5] == ["pods"]:
            if parts[3] != NAMESPACE:
                self._refuse(404, f'namespaces "{parts[3]}" not found')
            elif len(parts) == 5:
                self._pods(body)
            else:
                self._pod(parts[5], parts[6:])
        elif parts == ["api", "v1", "namespaces", NAMESPACE, "events"]:
            self._events()
        elif parts[0] == "apis" and parts[3:5] == ["namespaces", NAMESPACE]:
            self._custom(parts[5], parts[6:], body)
        else:
            self._refuse(404, "the server could not find the requested resource")

    def _pods(self, body: dict[str, Any]) -> None:
        if self.command == "GET":
            with self.cluster.lock:
                pods = list(self.cluster.pods.values())
            found = [self.cluster.described(pod) for pod in pods if self._selects(pod.manifest)]
            self._answer(200, {"kind": "PodList", "items": found})
            return
        if body["metadata"]["name"] in self.cluster.pods:
            self._refuse(409, f'pods "{body["metadata"]["name"]}" already exists')
            return
        try:
            pod = self.cluster.add(body)
        except kubernetes_validate.ValidationError as error:
            self._refuse(400, str(error))
            return
        self._answer(201, self.cluster.described(pod))

    def _events(self) -> None:
        (selector,) = parse_qs(urlsplit(self.path).query)["fieldSelector"]
        asked = dict(part.split("=") for part in selector.split(","))
        assert asked["type"] == "Warning"
        pod = self.cluster.pods.get(asked["involvedObject.name"])
        items = [
            {
                "type": "Warning",
                "reason": reason,
                "message": message,
                "firstTimestamp": _now(-seconds),
                "lastTimestamp": _now(),
            }
            for reason, message, seconds in (pod.warnings if pod is not None else ())
        ]
        self._answer(200, {"kind": "EventList", "items": items})

    def _selects(self, found: dict[str, Any]) -> bool:
        """Return whether the query's selector of labels is for an object."""
        (selector,) = parse_qs(urlsplit(self.path).query).get("labelSelector", [""])
        asked = dict(part.split("=") for part in selector.split(",") if part)
        return asked.items() <= found["metadata"].get("labels", {}).items()

    def _pod(self, name: str, rest: list[str]) -> None:
        pod = self.cluster.pods.get(name)
        if pod is None:
            self._refuse(404, f'pods "{name}" not found')
        elif rest == ["log"]:
            lines = int(parse_qs(urlsplit(self.path).query).get("tailLines", ["1000"])[0])
            log = pod.container.logs(tail=lines) if pod.container is not None else b""
            self._answer(200, log)
        elif rest in (["exec"], ["attach"]):
            self._stream(pod, rest[0])
        elif self.command == "DELETE":
            described = self.cluster.described(pod)
            self.cluster.remove(name)
            self._answer(200, described)
        else:
            self._answer(200, self.cluster.described(pod))

    def _custom(self, plural: str, rest: list[str], body: dict[str, Any]) -> None:
        objects = self.cluster.objects.get(plural)
        if objects is None:
            self._refuse(404, "the server could not find the requested resource")
        elif not rest and self.command == "POST":
            objects[body["metadata"]["name"]] = body
            self.cluster.created(plural, body)
            self._answer(201, body)
        elif not rest:
            self._answer(200, {"items": [one for one in objects.values() if self._selects(one)]})
        elif rest[0] not in objects:
            self._refuse(404, f'{plural} "{rest[0]}" not found')
        elif self.command == "DELETE":
            if objects[rest[0]]["metadata"].get("finalizers"):
                self._answer(200, objects[rest[0]])
                return
            self._answer(200, objects.pop(rest[0]))
            self.cluster.created(f"-{plural}", {"metadata": {"name": rest[0]}})
        else:
            self._answer(200, objects[rest[0]])

    def _stream(self, pod: Pod, kind: str) -> None:
        query = parse_qs(urlsplit(self.path).query)
        offered = [p.strip() for p in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        chosen = next((p for p in self.cluster.protocols if p in offered), None)
        state = self.cluster.described(pod)["status"]
        if state["phase"] != "Running":
            self._refuse(400, f"container is not running: pod is in phase {state['phase']}")
            return
        server = ChannelServer(self.connection, self.rfile, self.headers, chosen)
        self.close_connection = True
        api = self.cluster.engine.api
        if kind == "attach":
            server.attach(api, pod.container.id)
        else:
            server.execute(api, pod.container.id, query["command"])


def _now(offset: float = 0.0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset))


def _seconds(text: str) -> float:
    """Return a time of the engine in seconds of the epoch."""
    return float(calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))

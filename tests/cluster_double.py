"""A Kubernetes API server whose pods are local containers, spoken to by the real client.

It speaks HTTP and WebSocket over TCP. Manifests are checked strictly, as a cluster's admission
does. Faults are injected by method and path, and by the proxy that all connections pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import docker
import kubernetes_validate
from aiohttp import WSMsgType, web
from fault_proxy import FaultProxy
from service_thread import ServiceThread

from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream, exit_code
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack

VERSION = "1.37"
NAMESPACE = "sandboxes"
#: Addresses that a container without a network cannot reach.
SERVICE = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
_MOUNT = "rw,nosuid,nodev,exec"
#: Channels of a stream.
_INPUT, _OUTPUT, _ERRORS, _STATUS = (bytes((number,)) for number in range(4))
#: Answers a request with its body.
Work = Callable[[web.Request, dict[str, Any]], web.Response]


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
        warnings: reason, message and seconds of repetition of its events.
    """

    manifest: dict[str, Any]
    container: Any = None
    waiting: tuple[str, str] = ("ContainerCreating", "")
    warnings: list[tuple[str, str, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])


class ClusterDouble:
    """The API server.

    Args:
        engine: docker-py's client, which runs the pods.
        tls: file with a key and a certificate; ``None``: plain HTTP.

    Attributes:
        proxy: in front of the server, to cut, reset and refuse connections.
    """

    def __init__(self, engine: Any, tls: Path | None = None) -> None:
        self.engine = engine
        self.token = secrets.token_hex(8)
        self.lock = threading.RLock()
        self.pods: dict[str, Pod] = {}
        self._streams: set[asyncio.Task[web.StreamResponse]] = set()
        self._set_defaults()
        self._tls, context = tls, None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
        self._stack = contextlib.ExitStack()
        server = self._stack.enter_context(ServiceThread(self._application(), context))
        self.proxy = self._stack.enter_context(FaultProxy(("127.0.0.1", server.port)))

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
        """Remove all pods and injected faults."""
        with self.lock:
            self._set_defaults()
            for name in list(self.pods):
                self.remove(name)
        self.proxy.heal()

    def close(self) -> None:
        """Remove all pods, which ends their streams, and end the server."""
        self.reset()
        self._stack.close()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.proxy.port}"

    def kubeconfig(self, path: Path, **changes: Any) -> Path:
        """Write a kubeconfig for this server."""
        cluster: dict[str, Any] = {"server": changes.get("server", self.url)}
        if self._tls:
            cluster["certificate-authority"] = f"{self._tls}.crt"
        context = {"cluster": "double", "user": "u", "namespace": NAMESPACE}
        one = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "double",
            "clusters": [{"name": "double", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": changes.get("token", self.token)}}],
            "contexts": [{"name": "double", "context": context}],
        }
        path.write_text(json.dumps(one))
        return path

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
        if pod.waiting[0] != "ContainerCreating":
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
        spec = {**pod.manifest["spec"], "nodeName": "node-1"}
        state = self._container_state(pod)
        status = {
            "phase": "Pending",
            "hostIP": "10.1.2.3",
            "hostIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": [{"name": spec["containers"][0]["name"], "state": state}],
        }
        if "running" in state:
            status["phase"] = "Running"
        elif "terminated" in state:
            status["phase"] = "Failed" if state["terminated"]["exitCode"] else "Succeeded"
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

    # -- requests --

    def _application(self) -> web.Application:
        namespace = "/api/v1/namespaces/{namespace}"
        pod = namespace + "/pods/{name}"
        custom = "/apis/{group}/{version}/namespaces/{namespace}/{plural}"
        application = web.Application(middlewares=[self._check])
        application.add_routes(
            [
                web.get(f"{namespace}/pods", _in_thread(self._list_pods)),
                web.post(f"{namespace}/pods", _in_thread(self._create_pod)),
                web.get(f"{namespace}/events", _in_thread(self._list_events)),
                web.get(pod, _in_thread(self._use_pod)),
                web.delete(pod, _in_thread(self._use_pod)),
                web.get(f"{pod}/log", _in_thread(self._read_log)),
                web.get(pod + "/{stream:exec|attach}", self._serve_stream),
                web.get(custom, _in_thread(self._list_objects)),
                web.post(custom, _in_thread(self._create_object)),
                web.get(custom + "/{name}", _in_thread(self._use_object)),
                web.delete(custom + "/{name}", _in_thread(self._use_object)),
            ]
        )
        application.on_shutdown.append(self._end_streams)
        return application

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Answer a request, unless a fault, the token or the path is against it."""
        namespace, name = map(request.match_info.get, ("namespace", "name"))
        with self.lock:
            self.requests.append((request.method, request.path))
            for fault in self.faults:
                matches = fault.method == request.method and re.search(fault.path, request.path)
                if fault.times > 0 and matches:
                    fault.times -= 1
                    if not fault.status and request.transport is not None:
                        request.transport.abort()
                    return _refuse(fault.status or 500, fault.message, fault.headers)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refuse(401, "Unauthorized")
        if namespace not in (None, NAMESPACE):
            return _refuse(404, f'namespaces "{namespace}" not found')
        if "/pods/" in request.path and name not in self.pods:
            return _refuse(404, f'pods "{name}" not found')
        if request.match_info.get("plural", "") not in {"", *self.objects}:
            return _refuse(404, "the server could not find the requested resource")
        return await handler(request)

    def _list_pods(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        with self.lock:
            pods = list(self.pods.values())
        items = [self.described(pod) for pod in pods if _selects(request, pod.manifest)]
        return web.json_response({"kind": "PodList", "items": items})

    def _create_pod(self, _request: web.Request, body: dict[str, Any]) -> web.Response:
        name = body["metadata"]["name"]
        if name in self.pods:
            return _refuse(409, f'pods "{name}" already exists')
        try:
            pod = self.add(body)
        except kubernetes_validate.ValidationError as error:
            return _refuse(400, str(error))
        return web.json_response(self.described(pod), status=201)

    def _use_pod(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        pod = self.pods[request.match_info["name"]]
        described = self.described(pod)
        if request.method == "DELETE":
            self.remove(pod.name)
        return web.json_response(described)

    def _read_log(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        container = self.pods[request.match_info["name"]].container
        lines = int(request.query.get("tailLines", "1000"))
        return web.Response(body=container.logs(tail=lines) if container is not None else b"")

    def _list_events(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        asked = dict(part.split("=") for part in request.query["fieldSelector"].split(","))
        assert asked["type"] == "Warning"
        pod = self.pods.get(asked["involvedObject.name"])
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
        return web.json_response({"kind": "EventList", "items": items})

    def _list_objects(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        objects = self.objects[request.match_info["plural"]].values()
        return web.json_response({"items": [one for one in objects if _selects(request, one)]})

    def _create_object(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        plural = request.match_info["plural"]
        self.objects[plural][body["metadata"]["name"]] = body
        self.created(plural, body)
        return web.json_response(body, status=201)

    def _use_object(self, request: web.Request, _body: dict[str, Any]) -> web.Response:
        plural, name = request.match_info["plural"], request.match_info["name"]
        found = self.objects[plural].get(name)
        if found is None:
            return _refuse(404, f'{plural} "{name}" not found')
        if request.method == "DELETE" and not found["metadata"].get("finalizers"):
            del self.objects[plural][name]
            self.created(f"-{plural}", {"metadata": {"name": name}})
        return web.json_response(found)

    # -- exec and attach --

    async def _serve_stream(self, request: web.Request) -> web.StreamResponse:
        """Serve a stream to its end, also for a client that leaves while the engine opens it."""
        serving = asyncio.create_task(self._stream(request))
        self._streams.add(serving)
        serving.add_done_callback(self._streams.discard)
        return await asyncio.shield(serving)

    async def _end_streams(self, _application: web.Application) -> None:
        if self._streams:
            await asyncio.wait(self._streams, timeout=10.0)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Run a program in a pod, or attach to its first process, and pass the streams on."""
        pod = self.pods[request.match_info["name"]]
        phase = (await asyncio.to_thread(self.described, pod))["status"]["phase"]
        if phase != "Running":
            return _refuse(400, f"container is not running: pod is in phase {phase}")
        channels = web.WebSocketResponse(protocols=self.protocols, timeout=1.0)
        await channels.prepare(request)
        api, container, errors = self.engine.api, pod.container.id, bytearray()
        command, program = request.query.getall("command", []), ""
        # As API servers do, on the first channel that the client reads.
        await channels.send_bytes(_OUTPUT if command else _STATUS)
        if command:
            created = await asyncio.to_thread(api.exec_create, container, command, stdin=True)
            program = created["Id"]
            path, options = f"/exec/{program}/start", {"body": {"Detach": False, "Tty": False}}
        else:
            path = f"/containers/{container}/attach"
            options = {"query": {"stdin": 1, "stdout": 1, "stream": 1}}
        hijacked = await asyncio.to_thread(hijack, api, path, seconds=60.0, **options)
        stream = ExecStream(hijacked, errors.extend)

        async def pass_output_on() -> None:
            with contextlib.suppress(OSError):
                while data := await _when_ready(stream, functools.partial(stream.recv, 32_768)):
                    await channels.send_bytes(_OUTPUT + data)
                if errors:
                    await channels.send_bytes(_ERRORS + errors)
                if program:
                    code = await asyncio.to_thread(exit_code, api, container, program)
                    await channels.send_bytes(_STATUS + json.dumps(_status(code)).encode())
            await channels.close()

        output = asyncio.create_task(pass_output_on())
        try:
            async for message in channels:
                if message.type is WSMsgType.BINARY and message.data[:1] == _INPUT:
                    unsent = memoryview(message.data)[1:]
                    while unsent:
                        send = functools.partial(stream.send, unsent)
                        unsent = unsent[await _when_ready(stream, send, writing=True) :]
        finally:
            with contextlib.suppress(OSError):
                hijacked.shutdown(socket.SHUT_RDWR)
            await output
            stream.close()
        return channels


def _in_thread(work: Work) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler whose work may wait for the engine."""

    async def serve(request: web.Request) -> web.Response:
        body = json.loads(await request.read() or b"{}")
        return await asyncio.to_thread(work, request, body)

    return serve


async def _when_ready(stream: ExecStream, work: Callable[[], Any], *, writing: bool = False) -> Any:
    """Do what a stream that does not block allows, as soon as it allows it."""
    loop = asyncio.get_running_loop()
    add, remove = (
        (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
    )
    while True:
        try:
            return work()
        except BlockingIOError:
            ready, number = asyncio.Event(), stream.fileno()
            add(number, ready.set)
            try:
                await ready.wait()
            finally:
                remove(number)


def _refuse(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": status}
    return web.json_response(body, status=status, headers=headers)


def _status(code: int) -> dict[str, Any]:
    """Describe the end of a program."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "status": "Failure",
        "message": f"command terminated with non-zero exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _selects(request: web.Request, found: dict[str, Any]) -> bool:
    """Return whether the query's selector of labels is for an object."""
    selector = request.query.get("labelSelector", "")
    asked = dict(part.split("=") for part in selector.split(",") if part)
    return asked.items() <= found["metadata"].get("labels", {}).items()


def _now(offset: float = 0.0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset))


def _seconds(text: str) -> float:
    """Return a time of the engine in seconds of the epoch."""
    return datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc).timestamp()

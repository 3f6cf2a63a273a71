"""Client of a cluster's API: the official client's authentication, with deadlines and clear errors.

Kubernetes' answers are plain dictionaries here, because the official client's classes differ
between its releases. Error 429 is waited for as long as the server asks, within the deadline.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from ...deadline import Deadline, within
from ...errors import (
    EngineUnavailableError,
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
)
from ...stream.web_connection import connect
from ...stream.websocket_frames import UpgradeRefused, open_websocket
from ...system.closing import close_on_error
from ..containers.untrusted_json import read_json
from .channel_socket import PROTOCOLS
from .pod_labels import MANAGED_BY

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

__all__ = ["ClusterClient", "ClusterRefusal"]

# Time for the first answer of a cluster.
_CHECK_SECONDS = 4.5
# Time for one call.
_CALL_SECONDS = 15.0
_CONNECT_SECONDS = 4.0
# Credentials may come from a program that the kubeconfig names.
_LOAD_SECONDS = 30.0
# Pause where a server that is overloaded names none.
_PAUSE_SECONDS = 0.5
_GONE_PAUSE_SECONDS = 0.05
# The API server's words where the account lacks a permission. Admission refuses with 403, too.
_NOT_AUTHORIZED = re.compile(r'User "[^"]*" cannot [a-z*]+ ')
# Statuses of objects that do not exist.
_GONE = (404, 410)
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_KUBECONFIG = "~/.kube/config"
_MOST_SHOWN = 200


class ClusterRefusal(ExecutorStartError):
    """The cluster's answer is an error.

    Args:
        message: what was refused, in the cluster's words.
        status: HTTP status.
    """

    def __init__(self, message: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ClusterClient:
    """Connection to one namespace of a cluster.

    Args:
        context: Context of the kubeconfig; ``None``: the current one, or this pod's service
            account.
        namespace: ``None``: that of the context or of this pod.

    Raises:
        EngineUnavailableError: no package, no kubeconfig, no answer, or a token that is refused.
        ClusterRefusal: the account may not list pods there.
    """

    def __init__(self, context: str | None, namespace: str | None) -> None:
        try:
            import kubernetes.client
        except ImportError as error:
            raise EngineUnavailableError(
                "KubernetesEngine needs the package kubernetes, which is not installed: "
                "pip install 'smolagents[kubernetes]'"
            ) from (None if error.name == "kubernetes" else error)
        self._api, context_namespace = within(
            _LOAD_SECONDS,
            lambda: _load(context),
            _late("loading the kubeconfig and its credentials", _LOAD_SECONDS),
        )
        self.namespace = namespace or context_namespace
        self.core = kubernetes.client.CoreV1Api(self._api)
        self.custom = kubernetes.client.CustomObjectsApi(self._api)

    @property
    def address(self) -> str:
        """The API server's address."""
        return str(self._api.configuration.host)

    def check(self) -> None:
        """Check address, token and permission with one call.

        Raises:
            EngineUnavailableError: no answer within five seconds, or a token that is refused.
            ClusterRefusal: the account may not list pods.
        """
        within(
            _CHECK_SECONDS,
            lambda: self.list_pods(limit=1, seconds=_CHECK_SECONDS),
            _late(f"asking the cluster at {self.address}", _CHECK_SECONDS),
        )

    def call(
        self, action: str, function: Callable[..., Any], *args: Any, seconds: float = _CALL_SECONDS,
        **keywords: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Call the API and return its answer.

        Args:
            seconds: Seconds for all attempts together.

        Raises:
            EngineUnavailableError: no answer, or the server is unavailable.
            ClusterRefusal: the answer is an error.
        """
        answer = self._answer(action, function, args, keywords, Deadline(seconds))
        try:
            document = read_json(answer, "an answer")
        except ProtocolError:
            raise EngineUnavailableError(
                f"{action}: the server at {self.address} is not a cluster's API: it sent "
                f"{answer[:_MOST_SHOWN]!r}: check the address in the kubeconfig, and proxies"
            ) from None
        return document if isinstance(document, dict) else {}

    def list_pods(
        self, *, seconds: float = _CALL_SECONDS, **parameters: Any
    ) -> list[dict[str, Any]]:
        """Return the pods of the fork, as the API describes them; see :meth:`call` for errors.

        Args:
            **parameters: Parameters of the query, such as ``limit``.
        """
        pod_list = self.call(
            "listing pods",
            self.core.list_namespaced_pod,
            self.namespace,
            label_selector=MANAGED_BY,
            seconds=seconds,
            **parameters,
        )
        return list(pod_list.get("items") or ())

    def read_pod(self, name: str, *, seconds: float = _CALL_SECONDS) -> dict[str, Any]:
        """Return a pod, as the API describes it; see :meth:`call` for errors."""
        read = self.core.read_namespaced_pod
        return self.call(f"asking for pod {name}", read, name, self.namespace, seconds=seconds)

    def create_pod(self, manifest: Mapping[str, Any]) -> None:
        """Create a pod; see :meth:`call` for errors."""
        name, image = manifest["metadata"]["name"], manifest["spec"]["containers"][0]["image"]
        create = self.core.create_namespaced_pod
        self.call(f"creating pod {name} (image {image})", create, self.namespace, manifest)

    def log_lines(self, pod: str, lines: int, *, seconds: float = _CALL_SECONDS) -> list[str]:
        """Return the last lines of a pod's log; see :meth:`call` for errors."""
        text = self._answer(
            f"reading the log of pod {pod}",
            self.core.read_namespaced_pod_log,
            (pod, self.namespace),
            {"tail_lines": lines},
            Deadline(seconds),
        ).decode("utf-8", "replace")
        return text.splitlines()[-lines:]

    def warnings(self, pod: str) -> list[dict[str, Any]]:
        """Return the warnings among a pod's events, the last one at the end.

        Returns:
            the events as the API describes them; none where the account may not list events.

        Raises:
            EngineUnavailableError: no answer.
        """
        try:
            answer = self.call(
                f"listing the events of pod {pod}",
                self.core.list_namespaced_event,
                self.namespace,
                field_selector=f"involvedObject.kind=Pod,involvedObject.name={pod},type=Warning",
            )
        except ClusterRefusal:
            return []
        events = [event for event in answer.get("items") or () if isinstance(event, dict)]
        return sorted(events, key=_event_time)

    def delete(
        self, subject: str, delete: Callable[..., Any], read: Callable[..., Any], *args: Any,
        deadline: Deadline, **keywords: Any,
    ) -> None:  # fmt: skip
        """Delete an object and wait until it is gone; no-op when there is none.

        Args:
            deadline: Deadline of all calls together.

        Raises:
            EngineUnavailableError: no answer, or the server is unavailable.
            ExecutorError: the cluster refuses it, or the object still exists at the deadline.
        """
        try:
            seconds = deadline.at_most(_CALL_SECONDS)
            self.call(f"deleting {subject}", delete, *args, seconds=seconds, **keywords)
            while not deadline.expired():
                seconds = deadline.at_most(_CALL_SECONDS)
                self.call(f"asking for {subject}", read, *args, seconds=seconds)
                time.sleep(deadline.at_most(_GONE_PAUSE_SECONDS))
        except ClusterRefusal as error:
            if error.status in _GONE:
                return
            raise
        raise ExecutorError(
            f"{subject} in namespace {self.namespace!r} still exists {deadline.seconds:g} s after "
            "its deletion: a finalizer or a node that does not answer keeps it"
        )

    def _answer(
        self,
        action: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: Mapping[str, Any],
        deadline: Deadline,
    ) -> bytes:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        while True:
            seconds = max(0.1, deadline.at_most(_CALL_SECONDS))
            timeouts = (min(seconds, _CONNECT_SECONDS), seconds)
            try:
                answer = function(
                    *args, **keywords, _preload_content=False, _request_timeout=timeouts
                )
                status, headers, data = int(answer.status), answer.headers, bytes(answer.data)
            except ApiException as error:
                if not error.status:
                    raise self._unreachable(action, error.reason) from None
                body = error.body if isinstance(error.body, str) else ""
                status, headers, data = int(error.status), error.headers or {}, body.encode()
            except (HTTPError, OSError) as error:
                raise self._unreachable(action, error) from None
            if 200 <= status < 300:
                return data
            if status != 429 or not _pause(headers, deadline):
                raise self.refusal(action, status, data)

    def _unreachable(self, action: str, error: object) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"{action}: the cluster at {self.address} does not answer ({_short(error)}): check the "
            "address in the kubeconfig, and the network between"
        )

    def refusal(self, action: str, status: int, body: bytes) -> ExecutorStartError:
        """Return the error for an answer of the API.

        Args:
            body: Body of the answer, mostly a ``Status`` as JSON.
        """
        reason = _reason(body) or f"HTTP status {status}"
        where = f"{action} in namespace {self.namespace!r} of {self.address}"
        if status == 401:
            return EngineUnavailableError(
                f"{where}: the cluster does not accept the token or certificate ({reason}): renew "
                "the credentials in the kubeconfig"
            )
        if status >= 500:
            return EngineUnavailableError(f"{where}: the cluster is unavailable ({reason})")
        advice = {
            403: "; the account may do this, and the cluster's admission refuses it: change what "
            "it names, in the arguments or in the cluster",
            429: "; the API server is overloaded: start fewer sandboxes at once",
        }.get(status, "")
        if status == 403 and _NOT_AUTHORIZED.search(reason):
            advice = "; 'smolagents-fork setup kubernetes --print' writes the Role that is needed"
        return ClusterRefusal(f"{where}: {reason} (HTTP status {status}){advice}", status)

    def stream(
        self, pod: str, subresource: str, parameters: Mapping[str, Any], seconds: float
    ) -> socket.socket:
        """Open the WebSocket of an exec or an attachment.

        Args:
            subresource: ``exec`` or ``attach``.
            parameters: Parameters of the query; a list is given once for each entry.

        Raises:
            EngineUnavailableError: no answer.
            ClusterRefusal: the answer is an error.
        """
        action = f"opening a stream into pod {pod}"
        configuration: Any = self._api.configuration
        path = f"/api/v1/namespaces/{quote(self.namespace)}/pods/{quote(pod)}/{subresource}"
        query = urlencode(parameters, doseq=True, quote_via=quote)
        base = urlsplit(configuration.host)
        bearer = configuration.auth_settings().get("BearerToken", {}).get("value")
        deadline = Deadline(max(0.1, min(seconds, _CALL_SECONDS)))
        try:
            sock = connect(
                configuration.host,
                proxy=_proxy(configuration),
                context=_tls(configuration) if base.scheme == "https" else None,
                server_name=configuration.tls_server_name or "",
                deadline=deadline,
            )
            with close_on_error(sock):
                headers = open_websocket(
                    sock,
                    f"{base.path}{path}?{query}",
                    host=base.netloc,
                    subprotocols=PROTOCOLS,
                    headers={"Authorization": bearer} if bearer else {},
                    deadline=deadline,
                )
                if headers.get("Sec-WebSocket-Protocol") not in PROTOCOLS:
                    raise ClusterRefusal(
                        f"{action}: the cluster at {self.address} speaks neither "
                        f"{' nor '.join(PROTOCOLS)}: a proxy in between may not forward WebSockets"
                    )
            return sock
        except UpgradeRefused as error:
            raise self.refusal(action, error.status, error.body) from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise self._unreachable(action, error) from None

    def close(self) -> None:
        """Close idle connections. Idempotent; the client still works afterwards."""
        with contextlib.suppress(Exception):
            self._api.rest_client.pool_manager.clear()


def _load(context: str | None) -> tuple[ApiClient, str]:
    """Return a client and its namespace."""
    from kubernetes import client, config

    # Its functions have no types.
    load: Any = config
    try:
        configuration = client.Configuration()
        # urllib3 would otherwise repeat calls, and sleep as long as a server asks for.
        configuration.retries = False
        if context is None and not _kubeconfig_exists() and (_ACCOUNT / "token").is_file():
            load.load_incluster_config(client_configuration=configuration)
            return client.ApiClient(configuration), (_ACCOUNT / "namespace").read_text().strip()
        # The client itself reads the variable only once, when it is imported.
        path = os.environ.get("KUBECONFIG") or _KUBECONFIG
        load.load_kube_config(path, context=context, client_configuration=configuration)
        names, active = load.list_kube_config_contexts(path)
        chosen = active if context is None else next(c for c in names if c["name"] == context)
        return client.ApiClient(configuration), chosen["context"].get("namespace") or "default"
    except (config.ConfigException, OSError, StopIteration) as error:
        where = os.environ.get("KUBECONFIG") or _KUBECONFIG
        raise EngineUnavailableError(
            f"KubernetesEngine: {where} cannot be used: {_short(error)}: set KUBECONFIG to the "
            "file of your cluster, or run in a pod with a service account"
        ) from None


def _kubeconfig_exists() -> bool:
    paths = (os.environ.get("KUBECONFIG") or _KUBECONFIG).split(os.pathsep)
    return any(Path(path).expanduser().is_file() for path in paths if path)


def _late(action: str, seconds: float) -> EngineUnavailableError:
    return EngineUnavailableError(f"{action} took more than {seconds:g} s")


def _pause(headers: Mapping[str, str], deadline: Deadline) -> bool:
    """Wait as long as an overloaded server asks; return whether there was time for it."""
    delay = _PAUSE_SECONDS
    with contextlib.suppress(ValueError):
        delay = max(0.0, float(headers.get("Retry-After") or _PAUSE_SECONDS))
    seconds_left = deadline.remaining()
    if seconds_left is not None and delay >= seconds_left:
        return False
    time.sleep(delay)
    return True


def _event_time(event: Mapping[str, Any]) -> str:
    """Return when an event was last seen, in a form that sorts by time."""
    times = (event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    return next((str(timestamp) for timestamp in times if timestamp), "")


def _reason(body: bytes) -> str:
    with contextlib.suppress(ProtocolError):
        status = read_json(body, "a status")
        if isinstance(status, dict) and status.get("message"):
            return str(status["message"])[:1000]
    return body.decode("utf-8", "replace").strip()[:300]


def _short(error: object) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def _tls(configuration: Any) -> ssl.SSLContext:
    """Return the client's TLS settings."""
    context = ssl.create_default_context(
        cafile=configuration.ssl_ca_cert, cadata=getattr(configuration, "ca_cert_data", None)
    )
    if not configuration.verify_ssl:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif configuration.assert_hostname is False:
        context.check_hostname = False
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _proxy(configuration: Any) -> str:
    """Return the address of the client's proxy; empty without one."""
    host = urlsplit(configuration.host).hostname or ""
    excepted = [part.strip() for part in (configuration.no_proxy or "").split(",") if part.strip()]
    if "*" in excepted or any(host.endswith(part) for part in excepted):
        return ""
    return configuration.proxy or ""

"""The helper's connection to Ray: the address of this machine first, then ``ray.init``."""

from __future__ import annotations

import contextlib
import importlib
import platform
import socket
import threading
from collections.abc import Callable
from typing import Any

from ..._version import fork_revision, upstream_version
from ...errors import EngineUnavailableError
from ..ray_address import CLIENT_SCHEME, host_and_port
from ..token_errors import names_token, token_refused

__all__ = ["connect_to_ray"]

_ASKED_SECONDS = 6.0
_NAMESPACE = "smolagents_fork"


def connect_to_ray(address: str, on_step: Callable[[str], None]) -> str:
    """Connect this process to a cluster, and return an address of its head.

    Args:
        address: as ``ray.init`` takes it.
        on_step: called with ``asking`` before the head is asked, and with ``answered`` after that.

    Raises:
        EngineUnavailableError: Ray is missing, is of another version, or did not connect.
    """
    try:
        import ray
    except ImportError as error:
        raise EngineUnavailableError(
            f"RayEngine needs Ray, which cannot be imported ({error}): "
            "pip install 'smolagents[ray]'"
        ) from error
    try:
        arguments: dict[str, Any] = {"address": address, "namespace": _NAMESPACE}
        if not address.startswith(CLIENT_SCHEME):
            arguments |= {"log_to_driver": False, "configure_logging": False}
            on_step("asking")
            own = _own_address(address)
            if own is not None:
                on_step("answered")
            if own:
                arguments["_node_ip_address"] = own
        context: Any = ray.init(**arguments)
        _end_error_listener()
    except EngineUnavailableError:
        raise
    except Exception as error:
        if names_token(str(error)):
            raise token_refused(address) from error
        raise EngineUnavailableError(_said(address, error, ray.__version__)) from error
    with contextlib.suppress(Exception):
        found = context.address_info.get("gcs_address")
        return str(found or address)
    return address


def _end_error_listener() -> None:
    """Have Ray's thread that prints the cluster's errors end at the next one, or with the head.

    Nobody reads the output of this process. Once the head is lost, that thread asks for errors
    without a pause, and takes half a core or more until Ray ends the process a minute later (Ray
    2.60, ``listen_error_messages``).
    """
    worker: Any = importlib.import_module("ray._private.worker").global_worker
    stopped: threading.Event | None = getattr(worker, "threads_stopped", None)
    if stopped is not None:
        stopped.set()


def _own_address(address: str) -> str | None:
    """Return the address by which nodes reach this machine, if it is one of the nodes.

    Empty if it is not; ``None`` if the head did not answer in time.

    Ray looks for processes of a head on this machine, and may take the head's address for its own;
    nodes then call back the wrong machine.

    Raises:
        EngineUnavailableError: the head refused the token.
    """
    target = host_and_port(address)
    if target is None:
        return None
    family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Sends nothing: the system only chooses a route.
            probe.connect(target)
            own = str(probe.getsockname()[0])
        # The client of Ray's own command line.
        client: Any = importlib.import_module("ray._raylet").GcsClient
        infos = client(address=address).get_all_node_info(timeout=_ASKED_SECONDS).values()
        if any(info.state == 0 and info.node_manager_address == own for info in infos):
            return own
        return ""
    except Exception as error:
        # Ray's own connection asks again, and says more.
        if names_token(str(error)):
            raise token_refused(address) from error
        return None


def _said(address: str, error: Exception, version: str) -> str:
    text = " ".join(str(error).split())[:600]
    here = (
        f"here are Ray {version}, Python {platform.python_version()} and smolagents "
        f"{upstream_version}+fork.{fork_revision}"
    )
    return f"Ray did not connect to {address}: {type(error).__name__}: {text}; {here}"

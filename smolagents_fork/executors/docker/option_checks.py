"""Validation of DockerExecutor's options."""

from __future__ import annotations

import ipaddress
import os
import posixpath
from collections.abc import Mapping
from typing import Any

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...sandboxes.container_options import ContainerOptions, is_shared
from ...sandboxes.docker.volumes import check_volumes
from ...sandboxes.provisioner import ImageSpec
from ...sandboxes.resource_limits import Limits, check_limits, check_size
from ..jupyter.host_bindings import BridgeOptions
from ..validation import check_count, check_flag, check_output_function, check_text
from .option_groups import LimitOptions

__all__ = [
    "check_bridge",
    "check_container",
    "check_image",
    "check_limit_options",
]


def check_host(host: object) -> None:
    """Refuse a host that is not an address: the engine would open the port on all addresses."""
    try:
        ipaddress.ip_address(host if isinstance(host, str) else "")
    except ValueError:
        if host != "localhost":
            raise ConfigurationError(
                f"host={host!r}: give an address of the engine's machine, such as '127.0.0.1', or "
                "'0.0.0.0' for all of them"
            ) from None


def check_variable(name: object, value: object) -> None:
    if not isinstance(name, str) or not name or "=" in name or "\0" in name:
        raise ConfigurationError(f"environment: {name!r} is not a variable's name")
    if not isinstance(value, (str, int, float)):
        raise ConfigurationError(f"environment[{name!r}]={value!r}: give text or a number")
    if "\0" in str(value):
        raise ConfigurationError(f"environment[{name!r}]={value!r}: a value cannot have a NUL byte")


def check_network(name: str, network: object) -> None:
    if not is_shared(network):
        return
    whose = "the host's" if str(network) == "host" else "another container's"
    raise ConfigurationError(
        f"{name}={network!r}: the container would share {whose} network interfaces, so its code "
        f"could reach every service on {whose} loopback; the gateway's port would be open to "
        "every process there, and a second executor could not use it. Give 'none', 'bridge' or a "
        "network of your own (docker network create), or allow_shared_network=True if that is "
        "wanted"
    )


def check_user(name: str, user: object) -> None:
    if user is None:
        return
    who = str(user).partition(":")[0].strip()
    if who in ("", "root") or (who.isdigit() and int(who) == 0):
        raise ConfigurationError(
            f"{name}={user!r} is root, or the image's choice: code runs as root only with "
            "allow_root=True; give numbers such as '1000:1000'"
        )


def check_workdir(workdir: object) -> None:
    """Refuse a path that is not absolute or has another use."""
    if not isinstance(workdir, str) or not workdir.startswith("/"):
        raise ConfigurationError(f"workdir={workdir!r}: give an absolute path")
    if posixpath.normpath(workdir) in ("/", "//", "/tmp"):
        raise ConfigurationError(
            f"workdir={workdir!r} has another use in the container: "
            "give a folder such as '/workspace'; it need not be in the image"
        )


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r}: give one of {', '.join(map(repr, allowed))}")


def check_limit_options(limits: LimitOptions, resources: Limits) -> None:
    """Refuse limits that cannot work.

    Args:
        limits: of the executor.
        resources: of the sandbox.
    """
    check_seconds("timeout_seconds", limits.timeout_seconds)
    for name in ("startup_timeout_seconds", "interrupt_grace_seconds"):
        check_seconds(name, getattr(limits, name), optional=False)
    check_one_of("on_death", limits.on_death, ("restart", "fail"))
    check_count("max_print_outputs_length", limits.print_length)
    check_limits(resources)


def check_bridge(bridge: BridgeOptions) -> None:
    """Refuse options of the bridge that cannot work."""
    check_seconds("tool_timeout_seconds", bridge.tool_timeout_seconds)
    check_count("max_value_bytes", bridge.max_value_bytes)
    check_count("max_tool_calls", bridge.max_tool_calls)
    check_flag("allow_pickle", bridge.allow_pickle)
    check_flag("tools_in_calling_thread", bridge.tools_in_calling_thread, optional=True)
    check_output_function(bridge.on_output)
    for name, where in bridge.tool_placement.items():
        check_one_of(f"tool_placement[{name!r}]", where, ("host", "sandbox"))


def check_image(image: ImageSpec) -> None:
    """Refuse options of the image that cannot work."""
    check_seconds("build_timeout_seconds", image.build_timeout_seconds, optional=False)
    check_flag("build_new_image", image.build_new_image)
    for name in ("image", "image_name", "base_image", "dockerfile_content"):
        check_text(name, getattr(image, name))
    if image.ca_bundle is not None and not isinstance(image.ca_bundle, (str, os.PathLike)):
        raise ConfigurationError(f"ca_bundle={image.ca_bundle!r}: give a path, or None")
    if image.image is not None and image.dockerfile_content is not None:
        raise ConfigurationError(
            "image= and dockerfile_content= exclude one another: give one of them"
        )


def check_container(options: ContainerOptions) -> None:
    """Refuse options of the container that cannot work."""
    check_seconds("lease_seconds", options.lease_seconds, optional=False)
    check_one_of("transport", options.transport, ("auto", "exec", "port"))
    for name in ("read_only", "allow_root", "allow_shared_network"):
        check_flag(name, getattr(options, name))
    check_text("runtime", options.runtime)
    if options.runtime == "":
        # The engine takes an empty name for its default runtime, which may isolate less.
        raise ConfigurationError("runtime='': give a name, or None for the engine's own")
    port = options.port
    if port is not None and (type(port) is not int or not 0 < port < 65_536):
        raise ConfigurationError(f"port={port!r}: give 1 to 65535, or None for a free one")
    check_workdir(options.workdir)
    if not isinstance(options.network, str) or not options.network:
        # The engine takes an empty name for its bridge, which gives the code a network.
        raise ConfigurationError(
            f"network={options.network!r}: give 'none', 'bridge' or the name of a network"
        )
    check_host(options.host)
    for name, value in options.environment.items():
        check_variable(name, value)
    check_volumes(options.volumes)
    check_size("disk_size", options.disk_size)
    if not options.allow_shared_network:
        check_network("network", options.network)
        for name in ("network", "network_mode"):
            asked = options.container_run_kwargs.get(name)
            check_network(f"container_run_kwargs[{name!r}]", asked)
    if not isinstance(options.user, str):
        raise ConfigurationError(f"user={options.user!r}: give text such as '1000:1000'")
    if not options.allow_root:
        check_user("user", options.user)
        check_user("container_run_kwargs['user']", options.container_run_kwargs.get("user"))
    _check_run_arguments(options.container_run_kwargs)
    if options.transport == "port" and is_shared(options.network):
        raise ConfigurationError(
            f"transport='port' with network={options.network!r}: no port can be published on "
            "shared network interfaces; omit transport"
        )
    if options.transport == "port" and options.network == "none":
        raise ConfigurationError(
            "transport='port' needs a network: with network='none' no port can be published; "
            "pass network='bridge', or omit transport"
        )


# docker-py's arguments of containers.run that an executor decides: the value that changes nothing,
# or ``None``, and the reason.
_DECIDED: Mapping[str, tuple[Any, str]] = {
    "name": (None, "each container has a name of its own, by which it is removed: give labels"),
    "image": (None, "give image="),
    "detach": (True, "the executor attaches to the container itself"),
    "stdin_open": (True, "the container's lease is renewed through its standard input"),
    "remove": (True, "the engine removes a container that has ended"),
    "stream": (None, "the executor returns the output of code, not that of the container"),
    "stdout": (True, "the executor returns the output of code, not that of the container"),
    "stderr": (True, "the executor returns the output of code, not that of the container"),
}


def _check_run_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse docker-py's arguments that would have no effect."""
    for name, value in arguments.items():
        unchanged, reason = _DECIDED.get(name, (value, ""))
        if value is not None and value != unchanged:
            raise ConfigurationError(f"container_run_kwargs[{name!r}]={value!r}: {reason}")

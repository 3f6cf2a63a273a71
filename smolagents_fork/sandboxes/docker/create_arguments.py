"""Specification of a sandbox as docker-py's arguments, and the lease that it runs under.

The lease (:mod:`~smolagents_fork.sandboxes.containers.first_process`) ends a container whose host
process or engine was killed, with any image; then the engine removes it. A lost connection does not
matter by itself: the input stays open, and the host process attaches to it again. Nothing but time
ends a container whose engine is dead, because its input stays open then.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ... import _version
from ...system.proxy_environment import PROXY_PORT
from ..container_options import GATEWAY_PORT, ContainerOptions, is_shared, volume_entries
from ..containers.container_environment import container_environment
from ..containers.first_process import first_command
from ..provisioner import SandboxSpec
from ..resource_limits import parse_size
from .lifetime.labels import labels
from .streams.gateway_socket import SOCKET_PATH

__all__ = ["container_arguments", "lease_arguments", "main_command", "merge", "volume_arguments"]


def container_arguments(
    spec: SandboxSpec,
    options: ContainerOptions,
    name: str,
    *,
    token: str,
    published: bool = False,
    socket_path: str | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Make docker-py's arguments of ``containers.create``; ``container_run_kwargs`` override them.

    Args:
        socket_path: path of this machine's socket that the gateway connects to, if it is to.
        command: its main process, which runs under the lease.
    """
    network, limits = options.network, spec.limits
    uid, _, gid = options.user.partition(":")
    mode = f",uid={uid},gid={gid or uid}" if uid.isdigit() else ",mode=1777"
    address = "127.0.0.1" if not published else "0.0.0.0"
    arguments: dict[str, Any] = {
        "image": spec.image,
        "name": name,
        # The engine's own init would be process 1; then the code could kill the lease's process.
        "init": False,
        # The engine removes it when its main process ends, even if the host process is dead.
        "auto_remove": True,
        "user": options.user,
        "working_dir": spec.workdir,
        "environment": container_environment(spec, token, user=options.user, address=address),
        # docker-py adds the user's own proxies, whose addresses may have passwords.
        "use_config_proxy": False,
        "labels": labels(name, f"{_version.upstream_version}+fork.{_version.fork_revision}"),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "read_only": options.read_only,
        "tmpfs": {
            # noexec is the engine's default. Packages that are installed while the container
            # runs, which needs a network, may have extension modules, which need exec.
            spec.workdir: f"rw,nosuid,nodev,size={parse_size(limits.workdir_size)}{mode}"
            + (",exec" if network != "none" or spec.proxy is not None else ""),
            "/tmp": f"rw,nosuid,nodev,size={parse_size(limits.tmp_size)},mode=1777",
        },
        # The engine's modes are not names of networks; "container:" is followed by a name.
        "network_mode" if network == "none" or is_shared(network) else "network": network,
        # A program can write to the output of the container's main process without end, and the
        # engine stores that on its disk.
        "log_config": {"type": "json-file", "config": {"max-size": "1m", "max-file": "1"}},
    }
    if limits.memory is not None:
        # memswap equal to memory: no swap.
        memory = parse_size(limits.memory)
        arguments |= {"mem_limit": memory, "memswap_limit": memory}
    if limits.cpus is not None:
        arguments["nano_cpus"] = int(limits.cpus * 1e9)
    if limits.pids_limit is not None:
        arguments["pids_limit"] = int(limits.pids_limit)
    if options.runtime is not None:
        arguments["runtime"] = options.runtime
    if options.volumes:
        arguments |= volume_arguments(options.volumes)
    if published:
        # Other names are not resolved.
        host = "127.0.0.1" if options.host == "localhost" else options.host
        arguments["ports"] = {f"{GATEWAY_PORT}/tcp": (host, options.port)}
    if options.disk_size is not None and not options.read_only:
        arguments["storage_opt"] = {"size": str(options.disk_size)}
    extra = {**options.run_arguments, "environment": options.run_environment}
    arguments = merge(arguments, extra)
    if socket_path is not None:
        arguments |= _socket_arguments(arguments, socket_path, proxied=spec.proxy is not None)
    return {**arguments, **lease_arguments(command, spec.lease_seconds)}


def _socket_arguments(
    arguments: Mapping[str, Any], socket_path: str, *, proxied: bool
) -> dict[str, Any]:
    """Return the arguments that let the gateway connect to a socket of this machine."""
    from docker.types import Mount

    mount = Mount(SOCKET_PATH, socket_path, type="bind", read_only=True)
    environment = {"KG_CLIENT_SOCKET": SOCKET_PATH}
    if proxied:
        environment["KG_PROXY_PORT"] = str(PROXY_PORT)
    return {
        "mounts": [*(arguments.get("mounts") or ()), mount],
        "environment": {**arguments["environment"], **environment},
    }


def merge(arguments: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with the user's ``container_run_kwargs`` merged into them.

    Environments, labels, ports and tmpfs are merged; every other argument is replaced. Labels of
    the fork stay: they say whose the container is.
    """
    result = dict(arguments)
    for key, value in extra.items():
        if key in ("remove", "stream", "stdout", "stderr", "detach", "name", "image"):
            continue  # of docker-py's run(), not of the container; checked with the other options
        if key == "labels":
            user_labels = value if isinstance(value, Mapping) else dict.fromkeys(value or (), "")
            result[key] = {**user_labels, **(result.get(key) or {})}
        elif key in ("environment", "ports", "tmpfs") and isinstance(value, Mapping):
            result[key] = {**(result.get(key) or {}), **value}
        else:
            result[key] = value
    if "network" in extra:
        result.pop("network_mode", None)
    if "network_mode" in extra:
        result.pop("network", None)
    if "nano_cpus" in result and ("cpu_quota" in extra or "cpu_period" in extra):
        del result["nano_cpus"]
    return result


def volume_arguments(volumes: Any) -> dict[str, Any]:
    """Return docker-py's arguments for ``volumes``.

    For a volume whose path does not exist, the engine silently makes an empty folder owned by root.
    For a bind mount it reports an error, so folders become bind mounts. Named volumes, and modes
    that only volumes have (``z``, ``Z``, propagation), are passed on.

    Args:
        volumes: accepted by :func:`~smolagents_fork.sandboxes.container_options.volume_entries`.
    """
    from docker.types import Mount

    mounts, others = [], []
    for source, target, mode in volume_entries(volumes):
        if source.startswith("/") and mode in ("ro", "rw"):
            mounts.append(Mount(target, source, type="bind", read_only=mode == "ro"))
        else:
            others.append(f"{source}:{target}:{mode}")
    arguments: dict[str, Any] = {}
    if mounts:
        arguments["mounts"] = mounts
    if others:
        arguments["volumes"] = others
    return arguments


def main_command(config: Mapping[str, Any], extra: Mapping[str, Any]) -> list[str]:
    """Return the command that the container would run without a lease.

    Args:
        config: the image's ``Config``, as the engine's inspection gives it.
        extra: the user's arguments, whose ``entrypoint`` and ``command`` replace the image's. An
            entrypoint alone removes the image's command, as in the engine.
    """
    entrypoint = _arguments(extra.get("entrypoint"))
    command = _arguments(extra.get("command"))
    if entrypoint is None:
        entrypoint = _arguments(config.get("Entrypoint"))
        if command is None:
            command = _arguments(config.get("Cmd"))
    return [*(entrypoint or ()), *(command or ())]


def _arguments(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return shlex.split(value) if isinstance(value, str) else list(value)


def lease_arguments(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return docker-py's arguments that run ``command`` under the lease.

    Args:
        seconds: the lease; rounded up.
    """
    return {
        "entrypoint": first_command(seconds),
        "command": list(command),
        # Detached: docker-py leaves standard input open when its first connection ends.
        "stdin_open": True,
        "detach": True,
    }

"""Options of containers, for engines of every kind."""

from __future__ import annotations

import ipaddress
import posixpath
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ..errors import ConfigurationError
from ..options import accept
from ..options.option import Options, option
from ..options.words import DISK, FOLDERS, VARIABLES
from .resource_limits import size_or_none

__all__ = [
    "GATEWAY_PORT",
    "ContainerOptions",
    "Transport",
    "is_shared",
    "volume_entries",
]

#: Port the kernel gateway listens on inside a container.
GATEWAY_PORT = 8888
#: Address of published ports, unless another is given.
DEFAULT_HOST = "127.0.0.1"

Transport = Literal["auto", "exec", "port"]


def is_shared(network: object) -> bool:
    """Return whether a container on this network has no interfaces of its own."""
    return str(network).partition(":")[0] in ("host", "container")


def _host(name: str, value: Any) -> Any:
    """Refuse a host that is not an address: the engine would open the port on all addresses."""
    try:
        ipaddress.ip_address(value if isinstance(value, str) else "")
    except ValueError:
        if value != "localhost":
            raise ConfigurationError(
                f"{name}={value!r}: pass an address of the engine's machine, such as '127.0.0.1', "
                "or '0.0.0.0' for all of them"
            ) from None
    return value


def _port(name: str, value: Any) -> Any:
    if value is not None and (type(value) is not int or not 0 < value < 65_536):
        raise ConfigurationError(f"{name}={value!r}: pass 1 to 65535, or None for a free one")
    return value


def _network(name: str, value: Any) -> Any:
    if not isinstance(value, str) or not value:
        # The engine takes an empty name for its bridge, which gives the code a network.
        raise ConfigurationError(
            f"{name}={value!r}: pass 'none', 'bridge' or the name of a network"
        )
    return value


def _user(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise ConfigurationError(f"{name}={value!r}: pass text such as '1000:1000'")
    return value


def _runtime(name: str, value: Any) -> Any:
    if value == "":
        # The engine takes an empty name for its default runtime, which may isolate less.
        raise ConfigurationError(f"{name}='': pass a name, or None for the engine's own")
    return accept.text_or_none(name, value)


def _environment(name: str, value: Any) -> dict[str, Any]:
    variables = accept.mapping(name, value)
    for key, setting in variables.items():
        if not isinstance(key, str) or not key or "=" in key or "\0" in key:
            raise ConfigurationError(f"{name}: {key!r} is not a variable name")
        if not isinstance(setting, (str, int, float)):
            raise ConfigurationError(f"{name}[{key!r}]={setting!r}: pass text or a number")
        if "\0" in str(setting):
            raise ConfigurationError(f"{name}[{key!r}]={setting!r}: a value cannot have a NUL byte")
    return variables


def _workdir(name: str, value: Any) -> Any:
    """Refuse a path that is not absolute or has another use."""
    if not isinstance(value, str) or not value.startswith("/"):
        raise ConfigurationError(f"{name}={value!r}: pass an absolute path")
    if posixpath.normpath(value) in ("/", "//", "/tmp"):
        raise ConfigurationError(
            f"{name}={value!r} has another use in the container: "
            "pass a folder such as '/workspace'; it need not be in the image"
        )
    return value


def _volumes(_name: str, value: Any) -> Any:
    """Refuse volumes that docker-py cannot use."""
    for source, target, mode in volume_entries(value):
        if set(mode.split(",")) - _MODES:
            raise ConfigurationError(f"volumes: {source!r} with mode {mode!r}: pass 'ro' or 'rw'")
        if not target.startswith("/"):
            raise ConfigurationError(
                f"volumes: {source!r} at {target!r} of the container: pass an absolute path"
            )
    return value


# docker-py's arguments of containers.run that an executor decides: the value that changes nothing,
# or ``None``, and the reason.
_DECIDED: Mapping[str, tuple[Any, str]] = {
    "name": (None, "each container has a name of its own, by which it is removed: pass labels"),
    "image": (None, "pass image="),
    "detach": (True, "the executor attaches to the container itself"),
    "stdin_open": (True, "the container's lease is renewed through its standard input"),
    "tty": (False, "code could write to a terminal's input, by which the lease is renewed"),
    "remove": (True, "the engine removes a container that has ended"),
    "stream": (None, "the executor returns the output of code, not that of the container"),
    "stdout": (True, "the executor returns the output of code, not that of the container"),
    "stderr": (True, "the executor returns the output of code, not that of the container"),
}


def _run_arguments(name: str, value: Any) -> dict[str, Any]:
    """Refuse docker-py's arguments that would have no effect."""
    arguments = accept.mapping(name, value)
    for key, argument in arguments.items():
        unchanged, reason = _DECIDED.get(key, (argument, ""))
        if argument is not None and argument != unchanged:
            raise ConfigurationError(f"{name}[{key!r}]={argument!r}: {reason}")
    environment = arguments.get("environment") or ()
    is_list = isinstance(environment, (list, tuple)) and all(
        isinstance(item, str) for item in environment
    )
    if not is_list and not isinstance(environment, Mapping):
        raise ConfigurationError(
            f"{name}['environment'] is not a mapping, nor a list of text such as ['NAME=value']"
        )
    return arguments


@dataclass(frozen=True)
class ContainerOptions(Options):
    """Options of containers; the first three are upstream's."""

    host: str = option(
        DEFAULT_HOST,
        'where a published port is bound; only with a network. With `"0.0.0.0"` every client '
        "that reaches the machine reaches the kernel, protected only by a token, which is sent in "
        "clear",
        _host,
        form='address, or `"localhost"`',
    )
    port: int | None = option(
        None,
        "number of the published port; `None`: a free one, so that any number of executors can run",
        _port,
        form="1 to 65535",
    )
    container_run_kwargs: Mapping[str, Any] | None = option(
        None,
        "override all other settings, safety included; root and shared networks also need "
        "`allow_root`, `allow_shared_network`. Arguments that the executor decides are refused",
        _run_arguments,
        form="docker-py's arguments of `containers.run`",
    )
    _: KW_ONLY
    network: str = option(
        "none",
        'what the code can reach: with `"none"` loopback is the only interface. '
        '`"host"` and `"container:..."` are refused: the code would share another loopback',
        _network,
        form='`"none"`, `"bridge"`, or a network\'s name',
        elsewhere="internet internet_access net network_access "
        "network_disabled network_enabled network_mode networking shared_network block_network",
    )
    allow_shared_network: bool = option(
        False,
        "allows the network of the host or of another container. The code then reaches **every "
        "service on that loopback**, "
        "databases and other executors' kernels included; only one such executor can run",
        accept.flag,
    )
    transport: Transport = option(
        "auto",
        "what carries the kernel's stream",
        accept.one_of("auto", "exec", "port"),
        form='`"auto"`, `"exec"`, `"port"`',
    )
    read_only: bool = option(
        True,
        "whether the image's own files are read-only. With `False` the code can write wherever its "
        "user may, into a layer on the engine's disk that `disk_size` limits",
        accept.flag,
    )
    disk_size: int | str | None = option(
        "2g",
        "limit of what the code may write with `read_only=False`. Only some storage drivers "
        "support it (overlay2 on xfs with project quotas, btrfs, zfs); with others the start "
        "fails, and `None` accepts a container without this limit",
        size_or_none,
        form="size; `None`: no limit",
        elsewhere=DISK,
    )
    user: str = option(
        "1000:1000",
        "user that the code runs as. Uid 0 and names that are uid 0 in "
        "the image are refused. All capabilities are dropped and no-new-privileges is set in any "
        "case",
        _user,
        form="`uid:gid` as numbers, or a name of the image's",
        elsewhere="run_as_user uid user_id",
    )
    allow_root: bool = option(
        False, "lets the code run as root, for images that need it", accept.flag
    )
    runtime: str | None = option(
        None,
        "a sandboxing runtime between code and the host's kernel, such as gVisor's `runsc`",
        _runtime,
        form="a name from `docker info`, Runtimes",
        elsewhere="container_runtime oci_runtime runtime_class",
    )
    environment: Mapping[str, str | float] | None = option(
        None,
        "variables the code can read; none of the host's environment is passed",
        _environment,
        form="names to text or numbers",
        elsewhere=VARIABLES,
    )
    volumes: Any = option(
        None,
        "folders of the **engine's** machine, such as "
        '`{"/data": {"bind": "/data", "mode": "ro"}}` or `["/data:/data:ro"]`. With `"rw"` the '
        "code changes the host's files, and no size limits it. A missing path is an error",
        _volumes,
        form="as docker-py takes them",
        elsewhere=FOLDERS,
    )
    workdir: str = option(
        "/workspace",
        "the folder the code starts in and may write to",
        _workdir,
        form="absolute path",
        elsewhere="cwd work_dir working_dir working_directory workspace",
    )
    lease_seconds: float = option(
        15.0,
        "time the container may run without a message from its host process. A host process that "
        "is stopped for longer (SIGSTOP, a suspended machine) loses its containers: raise it",
        accept.seconds,
        form="seconds, rounded up",
        elsewhere="lease time_to_live ttl",
    )

    def check_together(self) -> None:
        """Refuse root, shared networks and ports without a network, unless they are allowed."""
        super().check_together()
        _refuse_gateway("environment", self.environment or {})
        _refuse_gateway("container_run_kwargs['environment']", self.run_environment)
        if not self.allow_shared_network:
            _refuse_shared("network", self.network)
            for name in ("network", "network_mode"):
                _refuse_shared(f"container_run_kwargs[{name!r}]", self.run_arguments.get(name))
        if not self.allow_root:
            _refuse_root("user", self.user)
            _refuse_root("container_run_kwargs['user']", self.run_arguments.get("user"))
        if self.transport == "port" and is_shared(self.network):
            raise ConfigurationError(
                f"transport='port' with network={self.network!r}: no port can be published on "
                "shared network interfaces; omit transport"
            )
        if self.transport == "port" and self.network == "none":
            raise ConfigurationError(
                "transport='port' needs a network: with network='none' no port can be published; "
                "pass network='bridge', or omit transport"
            )

    @property
    def run_arguments(self) -> Mapping[str, Any]:
        """docker-py's arguments that override the executor's."""
        return self.container_run_kwargs or {}

    @property
    def run_environment(self) -> dict[str, Any]:
        """Variables among docker-py's arguments, which takes a mapping or a list."""
        value = self.run_arguments.get("environment") or {}
        if isinstance(value, Mapping):
            return dict(value)
        return {name: text for name, _, text in (item.partition("=") for item in value)}

    @property
    def variables(self) -> dict[str, str]:
        """The environment as text."""
        return {name: str(value) for name, value in (self.environment or {}).items()}

    @property
    def published(self) -> bool:
        """Tell whether a port was asked for, which then carries the gateway's stream."""
        if self.network == "none" or is_shared(self.network) or self.transport == "exec":
            return False
        return self.transport == "port" or self.port is not None or self.host != DEFAULT_HOST

    @property
    def has_network(self) -> bool:
        """Tell whether the code was given a network."""
        extra = self.run_arguments
        network = extra.get("network") or extra.get("network_mode") or self.network
        return str(network) != "none"

    @property
    def shares_host_network(self) -> bool:
        """Tell whether the code has the interfaces of the engine's machine."""
        extra = self.run_arguments
        return "host" in (extra.get("network"), extra.get("network_mode"), self.network)

    def network_remedy(self, owner: str) -> str:
        """Return the advice that gives code a network; empty if it has one."""
        if self.has_network:
            return ""
        hosts = "" if owner == "pool" else "allowed_hosts= or "  # which a pool does not take
        return f"give the {owner} {hosts}network='bridge'"


def _refuse_shared(name: str, network: object) -> None:
    if not is_shared(network):
        return
    whose = "the host's" if str(network) == "host" else "another container's"
    raise ConfigurationError(
        f"{name}={network!r}: the container would share {whose} network interfaces, so its code "
        f"could reach every service on {whose} loopback; the gateway's port would be open to "
        "every process there, and a second executor could not use it. Pass 'none', 'bridge' or a "
        "network of your own (docker network create), or allow_shared_network=True if that is "
        "intended"
    )


def _refuse_gateway(name: str, variables: Mapping[str, Any]) -> None:
    for variable in variables:
        if variable.startswith("KG_"):
            raise ConfigurationError(
                f"{name}[{variable!r}]: variables that begin with KG_ are the executor's, for the "
                "kernel gateway; leave it out, or pass another name"
            )


def _refuse_root(name: str, user: object) -> None:
    if user is None:
        return
    who = str(user).partition(":")[0].strip()
    if who in ("", "root") or (who.isdigit() and int(who) == 0):
        raise ConfigurationError(
            f"{name}={user!r} is root, or the image's choice: code runs as root only with "
            "allow_root=True; pass numbers such as '1000:1000'"
        )


# The engine's modes: access, SELinux labels, propagation, copying, consistency.
_MODES = frozenset(
    [
        *("ro", "rw", "z", "Z", "nocopy", "consistent", "cached", "delegated", "default"),
        *("shared", "rshared", "slave", "rslave", "private", "rprivate"),
    ]
)


def volume_entries(volumes: Any) -> list[tuple[str, str, str]]:
    """Return source, target and mode of each folder.

    Args:
        volumes: Volumes in one of docker-py's two forms.

    Raises:
        ConfigurationError: it is in neither.
    """
    if volumes is None:
        return []
    if isinstance(volumes, Mapping):
        return [_of_mapping(source, value) for source, value in volumes.items()]
    if isinstance(volumes, (list, tuple)):
        return [_of_text(text) for text in volumes]
    raise _make_error(volumes)


def _of_mapping(source: Any, value: Any) -> tuple[str, str, str]:
    if isinstance(value, Mapping) and isinstance(source, str) and source:
        target, mode = value.get("bind"), value.get("mode", "rw")
        if (
            isinstance(target, str)
            and isinstance(mode, str)
            and not value.keys() - {"bind", "mode"}
        ):
            return source, target, mode
    raise _make_error({source: value})


def _of_text(text: Any) -> tuple[str, str, str]:
    parts = text.split(":") if isinstance(text, str) else []
    if len(parts) not in (2, 3) or not all(parts):
        raise _make_error([text])
    return parts[0], parts[1], parts[2] if len(parts) == 3 else "rw"


def _make_error(value: Any) -> ConfigurationError:
    return ConfigurationError(
        f"volumes={value!r}: pass {{'/data': {{'bind': '/data', 'mode': 'ro'}}}} or "
        "['/data:/data:ro']; the path of the engine's machine comes first"
    )

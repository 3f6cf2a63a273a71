"""Options of executors whose sandboxes may reach listed hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError
from ..options import accept
from ..options.option import Options, option
from ..system.proxy_environment import PROXY_PORT, TRUST_VARIABLES, proxy_environment
from .hosts.host_policy import AllowedHost, HostPolicy, allowed_hosts_or_none
from .secrets.secret import Secret, check_reach, secrets_or_none

if TYPE_CHECKING:
    from .host_proxy import SandboxProxy

__all__ = ["PROXY_VARIABLES", "NetworkAccess", "NetworkList"]

#: Variables that the list sets for clients, in upper and lower case.
PROXY_VARIABLES = tuple(proxy_environment(PROXY_PORT))


@dataclass(frozen=True, kw_only=True)
class NetworkList(Options):
    """Options of the list of hosts, which the proxy of the application enforces."""

    allowed_hosts: Sequence[str | AllowedHost] | None = option(
        None,
        "hosts that the code may reach, through a proxy of this process; the sandbox itself "
        "stays without a network. `*.example.org` is every name below, `packages` is the index of "
        "`PIP_INDEX_URL`, ports are 443 and 80 unless one is given, and `AllowedHost` has more. "
        "[What is promised](../network.md)",
        allowed_hosts_or_none,
        form='names, such as `["api.github.com", "*.wikipedia.org:443"]`; `None`: no host',
        elsewhere="allowed_domains allowed_urls allow_net allow_out domains egress hosts "
        "network_allow_list outbound whitelist",
    )
    max_connections: int = option(
        32,
        "connections to listed hosts at once; more wait",
        accept.count,
        form="connections",
    )
    max_network_bytes: int | None = option(
        1 << 30,
        "what one call may move through the proxy, in both directions together; `None`: no limit",
        accept.count_or_none,
        form="bytes",
    )

    def check_network(self, network: str) -> None:
        """Refuse a list of hosts beside a whole network.

        Raises:
            ConfigurationError: both are given.
        """
        if self.allowed_hosts is not None and network != "none":
            raise ConfigurationError(
                f"allowed_hosts= with network={network!r}: the code would reach every host of that "
                "network; pass network='none', the default, or leave allowed_hosts= out"
            )

    def check_names(self, name: str, variables: Iterable[str], own: Iterable[str]) -> None:
        """Refuse variables that a sandbox with a list of hosts sets.

        Args:
            name: Name of the option.
            variables: Names of its variables, in any case, which some clients ignore.
            own: Names of those that the sandbox sets.

        Raises:
            ConfigurationError: names the variable.
        """
        for variable in variables if self.allowed_hosts is not None else ():
            if variable.upper() in own:
                raise ConfigurationError(
                    f"{name}[{variable!r}]: a sandbox with allowed_hosts= sets this variable "
                    "itself; leave it out, or pass another name"
                )

    @property
    def network_advice(self) -> str:
        """Advice for code that looks for a network beside the proxy; empty without a list."""
        if self.allowed_hosts is None:
            return ""
        hosts = HostPolicy(self._entries, "executor").described
        return f"use a client that takes the proxy of HTTPS_PROXY, which reaches {hosts}"

    @property
    def _entries(self) -> list[AllowedHost]:
        entries = self.allowed_hosts or ()
        return [entry for entry in entries if isinstance(entry, AllowedHost)]


@dataclass(frozen=True, kw_only=True)
class NetworkAccess(NetworkList):
    """Options of the list of hosts, and of the secrets that are sent to them."""

    secrets: Mapping[str, Secret] | None = option(
        None,
        "variables whose values the code does not have: inside, each is a placeholder, which the "
        "proxy replaces in requests to the hosts of its `Secret`. "
        "[What is promised](../network.md#secrets)",
        secrets_or_none,
        form='names to `Secret`, such as `{"TOKEN": Secret(value, hosts=["api.github.com"])}`',
    )

    def check_together(self) -> None:
        """Refuse secrets for hosts that the code does not reach."""
        super().check_together()
        if self.secrets is None:
            return
        if self.allowed_hosts is None:
            hosts = [entry.host for secret in self.secrets.values() for entry in secret.hosts]
            raise ConfigurationError(
                f"secrets= without allowed_hosts=: pass allowed_hosts={hosts}; its proxy sends them"
            )
        check_reach(self.secrets, self._entries)
        self.check_names("secrets", self.secrets, (*PROXY_VARIABLES, *TRUST_VARIABLES))

    def check_environment(self, name: str, environment: Mapping[str, Any]) -> None:
        """Refuse variables that show a secret, or have the name of one that the list sets.

        Raises:
            ConfigurationError: names the variable.
        """
        # Certificates of the user's are trusted besides those for secrets.
        self.check_names(name, environment, PROXY_VARIABLES)
        for placeholder, secret in (self.secrets or {}).items():
            for variable, value in environment.items():
                if variable == placeholder or secret.reveal() in str(value):
                    raise ConfigurationError(
                        f"{name}[{variable!r}] has the value of secrets[{placeholder!r}] or its "
                        "name: omit it, since the code gets the placeholder"
                    )

    def network_proxy(
        self,
        owner: str,
        on_event: Callable[[str, str, Mapping[str, Any]], None] | None = None,
    ) -> SandboxProxy | None:
        """Return a proxy for one sandbox; ``None`` without a list.

        Args:
            owner: Class of the executor, for messages.
            on_event: See :class:`.access_record.AccessRecord`.

        Raises:
            ConfigurationError: what it needs is not installed.
        """
        if self.allowed_hosts is None:
            return None
        # Expensive, and an extra.
        try:
            from .host_proxy import SandboxProxy

            if self.secrets is not None:
                from .secrets.secret_access import SecretAccess
        except ModuleNotFoundError as error:
            option = "allowed_hosts=" if self.secrets is None else "secrets="
            raise ConfigurationError(
                f"{option} needs {error.name}, which is not installed: "
                "pip install 'smolagents[egress]'"
            ) from None
        from .access_record import AccessRecord
        from .proxied_connection import ProxyLimits

        limits = ProxyLimits(self.max_connections, self.max_network_bytes)
        record = AccessRecord(limits.call_bytes, owner, on_event)
        policy = HostPolicy(self._entries, owner)
        secrets = None if self.secrets is None else SecretAccess(self.secrets, record.count)
        return SandboxProxy(policy, limits, record, secrets=secrets)

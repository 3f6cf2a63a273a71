"""Confined children on a node of the cluster, as an executor on the host uses them."""

from __future__ import annotations

from ..errors import ExecutorStartError, SandboxDiedError
from ..folders.file_store import FileStore
from ..guest.frames import Kind
from ..process.child_places import ChildRequest
from ..results import ExecutorStats
from .plain_data import Reservation
from .relayed_guest import RelayedGuest
from .remote_sandbox import RemoteSandbox
from .supervisors import Cluster

__all__ = ["RemoteChildren"]

# Causes of an end that another sandbox does not have.
_GONE = ("node", "removed")


class RemoteChildren:
    """A sandbox on a node, whose children share a folder there.

    Args:
        cluster: closed with this object.
        reservation: of the supervisor.
        request: what the children may do.
        tenant: empty for none.
    """

    def __init__(
        self, cluster: Cluster, reservation: Reservation, request: ChildRequest, tenant: str
    ) -> None:
        self._cluster = cluster
        self._reservation = reservation
        self._request = request
        self._tenant = tenant
        self._sandbox: RemoteSandbox | None = None

    @property
    def described(self) -> str:
        """Sandbox, node and tenant; empty before the first start."""
        return "" if self._sandbox is None else str(self._sandbox)

    @property
    def folder(self) -> str | None:
        """Path of the folder on the node."""
        if self._sandbox is None:
            return None
        folder = self._sandbox.info.get("folder")
        return folder if isinstance(folder, str) else None

    def start(self, kinds: dict[Kind, int]) -> RelayedGuest:
        """Fork a child in the sandbox; make the sandbox, or another if its node is lost.

        Args:
            kinds: frames that are accepted from the child.

        Raises:
            SandboxDiedError: the node was lost meanwhile; no program has run, so the caller may
                start another.
            ExecutorStartError: it did not start; says why.
        """
        seconds = self._request.start_seconds
        try:
            if self._sandbox is None or self._sandbox.lost:
                self._forget()
                self._sandbox = self._cluster.supervisors.start(
                    self._reservation,
                    {"request": self._request},
                    RemoteSandbox,
                    tenant=self._tenant,
                    timeout=seconds,
                )
            sandbox = self._sandbox
            return RelayedGuest(sandbox, *sandbox.open_remote_stream(seconds), kinds)
        except SandboxDiedError as error:
            self._forget()
            if error.cause in _GONE:
                raise SandboxDiedError(str(error), cause="node") from error
            raise ExecutorStartError(f"the sandbox did not start: {error}") from error

    def _forget(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.end()

    def files(self) -> FileStore:
        """Return the files of the folder on the node."""
        if self._sandbox is None:
            raise ExecutorStartError("the sandbox has not been started")
        return self._sandbox

    def stats(self, pid: int | None) -> ExecutorStats:
        """Return the child's resource use now."""
        if self._sandbox is None or pid is None:
            raise ExecutorStartError("the sandbox has not been started")
        return self._sandbox.stats()

    def remove(self) -> None:
        """Remove the sandbox and give the cluster back."""
        self._forget()
        self._cluster.close()

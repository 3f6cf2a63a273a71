"""The nodes of a cluster, and the faults that its users cause.

An object has no state of its own but names and addresses: one process may make a cluster and
others use and damage it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from . import network as networks
from .network import Network
from .processes import alive, end, in_session, program

__all__ = ["CPUS", "HEAD", "NODES", "RayCluster", "remove_stale"]

#: Runs without a namespace, as the tests do: a driver takes the head of its machine for its node.
HEAD = "head"
NODES = ("node1", "node2", "node3")
#: Cores that a node says it has. No test computes: they decide how many sandboxes fit.
CPUS = 16
#: Only detects hangs.
START_SECONDS = 600.0
#: Starts of a node; Ray's own end of one that it finds slow is not this one's.
_ATTEMPTS = 5
_PORT = 6379
_OBJECT_STORE_BYTES = 80 << 20
_RAY = "from ray.scripts.scripts import main; main()"
_STARTED = "Ray runtime started"
_TEMPORARY = "ray"
#: Runs a command with a folder of its own in another's place, as if it had a machine of its own: up
#: to Ray 2.54 all nodes have the head's temporary folder, and two that start at once may choose the
#: same name for a socket. ``ip netns exec`` has made the mount namespace.
_MOUNTED = 'mount --bind "$0" "$1" && shift && exec "$@"'
#: Prints the addresses of the nodes that Ray counts as alive, each with the node's id, as soon as
#: they are the expected ones or the seconds are over. One process asks, since each imports Ray.
_ALIVE = """
import json, sys, time
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
expected, end = json.loads(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while True:
    found = [[n["NodeManagerAddress"], n["NodeID"]] for n in ray.nodes() if n["Alive"]]
    if expected in (None, sorted(id for _, id in found)) or time.monotonic() > end:
        break
    time.sleep(0.2)
print(json.dumps(found))
"""
#: For which one such process waits. Meanwhile another node may be lost.
_EXPECTED_SECONDS = 10.0


def remove_stale() -> None:
    """Remove what is left of clusters whose maker was killed."""
    with contextlib.suppress(OSError):  # there is no program ip, or no right to use it
        networks.remove_stale()
    for folder in Path(tempfile.gettempdir()).glob(f"{networks.PREFIX}*-*"):
        made_by = re.match(rf"{networks.PREFIX}(\d+)-", folder.name)
        if made_by is None or alive(int(made_by.group(1))):
            continue
        for session in folder.glob("*.session"):
            with contextlib.suppress(OSError, ValueError):
                number = int(session.read_text())
                end(lambda: set(in_session(number, str(folder))))  # noqa: B023
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class RayCluster:
    """A cluster that runs.

    Attributes:
        pid: of the process that made it.
        folder: of its logs, temporary files and the sessions of its processes.
        token: that Ray asks for.
        subnet: third number of its addresses; ``None``: there is one node, on the loopback.
        certificate: file with the key and certificate of all its connections; empty: without TLS.
        size: number of nodes that run sandboxes, where there is more than the loopback.
        python: program of the nodes; empty: of this process.
    """

    pid: int
    folder: str
    token: str
    subnet: int | None
    certificate: str = ""
    size: int = len(NODES)
    python: str = ""

    # -- what its users read --

    @property
    def address(self) -> str:
        """Address of the head for drivers and nodes."""
        return f"{self.address_of(HEAD)}:{self._port}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes that run sandboxes."""
        return NODES[: self.size] if self.subnet is not None else (HEAD,)

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a driver shows that it may use the cluster."""
        names = ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY")
        tls = {"RAY_USE_TLS": "1", **dict.fromkeys(names, self.certificate)}
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        return {**token, **(tls if self.certificate else {})}

    def address_of(self, node: str) -> str:
        """Return a node's IP address."""
        if self.subnet is None:
            return "127.0.0.1"
        return self._network.address((HEAD, *NODES).index(node) + 1)

    def alive(self, patience: float = 0.0, expected: list[str] | None = None) -> dict[str, str]:
        """Return the ids of the nodes that Ray counts as alive, by address.

        Args:
            patience: seconds for which the head is asked again while it does not answer.
            expected: sorted ids to wait for, for :data:`_EXPECTED_SECONDS`; ``None``: any.
        """
        command = [sys.executable, "-c", _ALIVE, self.address]
        command += [json.dumps(expected), str(_EXPECTED_SECONDS)]
        deadline = time.monotonic() + patience
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    command, env=self._environment, capture_output=True, text=True,
                    timeout=90, check=False,
                )  # fmt: skip
                if done.returncode == 0:
                    # Before it may be what Ray says of a node that is lost.
                    return dict(json.loads(done.stdout.splitlines()[-1]))
            if time.monotonic() >= deadline:
                return {}
            time.sleep(0.5)

    def processes(self, node: str, title: str) -> set[int]:
        """Return the processes of a node whose command has a word, such as an actor's class."""
        found = set()
        for pid in self._pids(node):
            with contextlib.suppress(OSError):
                if title in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                    found.add(pid)
        return found

    def log(self, node: str) -> str:
        """Return the end of what a node's ``ray start`` printed."""
        with contextlib.suppress(OSError):
            return self._log(node).read_text(errors="replace")[-3000:]
        return ""

    # -- its life --

    @classmethod
    def create(cls, *, namespaces: bool, **options: Any) -> RayCluster:
        """Start a cluster in this process.

        Args:
            namespaces: whether its nodes get namespaces; otherwise there is one node.
            **options: see the attributes from ``certificate`` on.
        """
        folder = tempfile.mkdtemp(prefix=f"{networks.PREFIX}{os.getpid()}-")
        token = os.urandom(24).hex()
        made = cls(os.getpid(), folder, token, None, **options)
        try:
            if namespaces:
                network = Network(os.getpid())
                network.create(list(NODES[: made.size]))
                made = replace(made, subnet=network.subnet)
            made.complete()
        except BaseException:
            made.remove()
            raise
        return made

    @classmethod
    def load(cls, text: str) -> RayCluster:
        """Return the cluster that :meth:`dump` wrote."""
        return cls(**json.loads(text))

    def dump(self) -> str:
        """Describe the cluster, for another process."""
        return json.dumps(asdict(self))

    def complete(self) -> None:
        """Restore links, start what does not run, and wait until Ray knows of it and no more.

        The head is not asked if no fault was caused since the last time and every node runs.
        """
        runs = all(self._raylet(node) for node in self._all) and self._runs("gcs_server", HEAD)
        if runs and not self._faults.exists():
            return
        deadline = time.monotonic() + START_SECONDS
        if self.subnet is not None:
            for node in self.nodes:
                self._network.restore(node)
        if self._raylet(HEAD) is None or not self._runs("gcs_server", HEAD):
            for node in self._all:  # a new head knows of no node, and the nodes of no new head
                self.kill_node(node)
            self._begin([HEAD], deadline)
        while True:
            self._begin([node for node in self._all if self._raylet(node) is None], deadline)
            expected = sorted(map(self._node_id, self._all))
            found = self.alive(expected=expected)
            if sorted(found.values()) == expected:
                self._faults.unlink(missing_ok=True)
                return
            assert time.monotonic() < deadline, f"{found}, {self.log(HEAD)}"
            time.sleep(0.5)

    def remove(self) -> None:
        """End all its processes and remove its namespaces and files. Idempotent."""
        for node in self._all:
            self.kill_node(node)
        if self.subnet is not None or self.pid == os.getpid():
            with contextlib.suppress(OSError):  # there is no program ip
                self._network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- faults --

    def kill_raylet(self, node: str) -> None:
        """Kill a node's own process of Ray; Ray ends the rest of the node afterwards."""
        self._note_fault()
        pid = self._raylet(node)
        assert pid is not None, f"{node} does not run"
        os.kill(pid, signal.SIGKILL)

    def kill_node(self, node: str) -> None:
        """Kill all processes of Ray on a node. Idempotent."""
        self._note_fault()
        end(lambda: self._pids(node))

    def cut(self, node: str) -> None:
        """Cut a node's link: packets are lost, and neither side is told."""
        self._note_fault()
        self._network.cut(node)

    def restore(self, node: str) -> None:
        """Restore a node's link. Idempotent."""
        self._network.restore(node)

    @property
    def _faults(self) -> Path:
        """File that is there from a fault until the cluster is complete again."""
        return Path(self.folder) / "faults"

    def _note_fault(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # the cluster has been removed
            self._faults.touch()

    # -- processes --

    @property
    def _port(self) -> int:
        """Port of the head, which listens on all addresses of this machine."""
        return _PORT + (self.subnet or 0)

    @property
    def _all(self) -> tuple[str, ...]:
        return (HEAD, *self.nodes) if self.subnet is not None else (HEAD,)

    @property
    def _network(self) -> Network:
        return Network(self.pid, self.subnet)

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        return {**kept, **self.environment, **own}

    def _log(self, node: str) -> Path:
        return Path(self.folder) / f"{node}.log"

    def _pids(self, node: str) -> set[int]:
        """Return the processes of a node."""
        found = set()
        with contextlib.suppress(OSError, ValueError):
            session = int((Path(self.folder) / f"{node}.session").read_text())
            found.update(in_session(session, self.folder))
        if self.subnet is not None and node != HEAD:
            found |= self._network.pids(node)
        return found - {os.getpid()}

    def _runs(self, name: str, node: str) -> bool:
        return any(program(pid) == name for pid in self._pids(node))

    def _raylet(self, node: str) -> int | None:
        return next((pid for pid in self._pids(node) if program(pid) == "raylet"), None)

    def _node_id(self, node: str) -> str:
        """Return the id that a node has given itself."""
        with contextlib.suppress(OSError, StopIteration):
            words = Path(f"/proc/{self._raylet(node)}/cmdline").read_text().split("\0")
            return next(w.partition("=")[2] for w in words if w.startswith("--node_id="))
        return "(none)"

    def _arguments(self, node: str) -> Iterator[str]:
        if node == HEAD:
            yield from ("--head", f"--port={self._port}", "--include-dashboard=false")
        else:
            yield f"--address={self.address}"
        yield f"--num-cpus={CPUS if node in self.nodes else 0}"
        yield f"--node-ip-address={self.address_of(node)}"
        yield f"--temp-dir={self.folder}/{_TEMPORARY}"
        yield f"--object-store-memory={_OBJECT_STORE_BYTES}"
        yield from ("--include-log-monitor=false", "--disable-usage-stats", "--block")

    def _start(self, node: str) -> None:
        """Start a node in a session of its own, as an orphan: Ray's ``--block`` ends with it."""
        command = [self.python or sys.executable, "-c", _RAY, "start", *self._arguments(node)]
        if self.subnet is not None and node != HEAD:
            there, seen = f"{self.folder}/{node}", f"{self.folder}/{_TEMPORARY}"
            for folder in (there, seen):
                os.makedirs(folder, exist_ok=True)
            command = ["sh", "-c", _MOUNTED, there, seen, *command]
            command = ["ip", "netns", "exec", self._network.namespace(node), *command]
        with self._log(node).open("w") as log:
            subprocess.run(
                [sys.executable, "-c", _ORPHAN, f"{self.folder}/{node}.session", *command],
                env=self._environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
                timeout=START_SECONDS,
            )

    def _begin(self, nodes: list[str], deadline: float) -> None:
        """Start nodes and wait for them; one that gives up is started again a few times.

        Ray ends a node that the head does not know after 30 s, too few on a busy machine.
        """
        for attempt in range(_ATTEMPTS):
            for node in nodes:
                self.kill_node(node)
                self._start(node)
            nodes = [node for node in nodes if not self._has_started(node, deadline)]
            last = attempt == _ATTEMPTS - 1
            assert not (nodes and last), f"{nodes[0]} ended: {self.log(nodes[0])}"

    def _has_started(self, node: str, deadline: float) -> bool:
        """Wait for a node; return whether it has started, and not ended."""
        looks = 0
        while _STARTED not in self.log(node):
            late = time.monotonic() > deadline
            assert not late, f"{node} did not start: {self.log(node)}"
            looks += 1
            # Finding the processes takes long, and a start has more need of the time.
            if looks % 10 == 0 and not any(map(alive, self._pids(node))):
                return _STARTED in self.log(node)
            time.sleep(0.1)
        return True


#: Starts a command as an orphan in a session of its own, whose id it writes to a file.
_ORPHAN = """
import os, sys
begun, running = os.pipe()  # both are closed by exec
if os.fork() == 0:
    os.setsid()
    with open(sys.argv[1], "w") as file:
        file.write(str(os.getpid()))
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(running)
os.read(begun, 1)
"""

"""Run a command on a cluster of this machine: ``python -m tools.kubernetes_cluster COMMAND ...``.

Builds Kubernetes if the cache does not have it, starts a cluster, runs the command with
``KUBECONFIG`` and ``KUBERNETES_CLUSTER``, and ends the cluster. A machine that cannot have one
leaves the command out, with a line that says why; with ``REQUIRE_KUBERNETES=1`` that is a failure.
Without a command, it builds only.

Exit: the command's, 0 when it was left out, 1 when there is no cluster.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from tools.command import clean_environment
from tools.errors import ToolError
from tools.paths import REPORTS

from .binaries import ClusterUnavailable, build
from .cluster import KubernetesCluster


def main(command: Sequence[str]) -> int:
    """Run a command on a cluster; return the exit status.

    Args:
        command: program and arguments; empty to build only.
    """
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        if not command:
            print(build())
            return 0
        with KubernetesCluster(REPORTS / "kubernetes") as cluster:
            environment = clean_environment() | cluster.environment
            return subprocess.run(command, env=environment, check=False).returncode
    except ClusterUnavailable as error:
        required = os.environ.get("REQUIRE_KUBERNETES") == "1"
        print(f"== the real Kubernetes is left out: {str(error).splitlines()[0]}", flush=True)
        return 1 if required else 0
    except ToolError as error:
        print(f"no cluster: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

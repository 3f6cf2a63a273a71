"""Run a command on a cluster of this machine: ``python -m tools.kubernetes_cluster COMMAND ...``.

Builds Kubernetes if the cache does not have it, starts a cluster, runs the command with
``KUBECONFIG`` and ``KUBERNETES_CLUSTER``, and ends the cluster. A machine that cannot have one
leaves the command out, with a line that says why; with ``REQUIRE_KUBERNETES=1`` that is a failure.
A command that runs longer than ``KUBERNETES_SECONDS`` is ended. Without a command, it builds only.

Exit: the command's, 0 when it was left out, 1 when there is no cluster, 3 when the source package
cannot be downloaded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tools.command import clean_environment, end_session
from tools.errors import ToolError
from tools.paths import REPORTS

from .binaries import ClusterUnavailable, SourceUnavailable, build
from .cluster import KubernetesCluster

_SOURCE_UNAVAILABLE = 3
# For the whole contract on two busy cores.
_SECONDS = 7200.0


def main(command: Sequence[str]) -> int:
    """Run a command on a cluster; return the exit status.

    Args:
        command: program and arguments; empty to build only.
    """
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    seconds = float(os.environ.get("KUBERNETES_SECONDS") or _SECONDS)
    try:
        folder = build()
        if not command:
            print(folder)
            return 0
        with KubernetesCluster(folder, REPORTS / "kubernetes") as cluster:
            return _run(command, clean_environment() | cluster.environment, seconds)
    except ClusterUnavailable as error:
        print(f"== the real Kubernetes is left out: {str(error).splitlines()[0]}", flush=True)
        if os.environ.get("REQUIRE_KUBERNETES") != "1":
            return 0
        return _SOURCE_UNAVAILABLE if isinstance(error, SourceUnavailable) else 1
    except (TimeoutError, ToolError) as error:
        print(f"no cluster: {error}", file=sys.stderr)
        return 1


def _run(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> int:
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(
                f"the command ran past KUBERNETES_SECONDS={seconds:g} and was ended"
            ) from None
        finally:
            end_session(process)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

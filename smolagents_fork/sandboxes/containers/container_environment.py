"""Environment of the programs in a container, of whichever engine."""

from __future__ import annotations

from ..container_options import GATEWAY_PORT
from ..provisioner import SandboxSpec

__all__ = ["container_environment"]


def container_environment(
    spec: SandboxSpec, token: str, *, user: str, address: str = "127.0.0.1"
) -> dict[str, str]:
    """Return the variables of a container: those of its programs, then the user's."""
    # A user that is a number has no entry in the passwd file of most images.
    name = user.partition(":")[0]
    name = "sandbox" if not name or name.isdigit() else name
    return {
        "HOME": spec.workdir,
        "USER": name,
        "LOGNAME": name,
        "TMPDIR": "/tmp",
        "JUPYTER_RUNTIME_DIR": "/tmp/jupyter",
        "IPYTHONDIR": "/tmp/ipython",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "KG_IP": address,
        "KG_PORT": str(GATEWAY_PORT),
        "KG_AUTH_TOKEN": token,
        **spec.environment,
        **spec.proxy_variables,
    }

"""Arguments of DockerExecutor's constructor and of its preparation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...errors import ConfigurationError
from ...network.network_list import NetworkAccess
from ...options import accept
from ...options.option import Options, option, same_as
from ...options.words import IMPORTS, PACKAGES
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.provisioner import NodesProvisioner
from ..call_options import Arguments
from ..jupyter.image_progress import shown_progress
from ..pools.pool_options import PooledArguments
from .docker_pool import DockerPool
from .options import DockerOptions, EngineOption, chosen_engine

__all__ = ["DockerArguments", "SetupArguments"]


@dataclass(frozen=True)
class _Imports(Options):
    additional_imports: Sequence[str] = option(
        (),
        "their packages are installed when the image is built, so run time needs no network: "
        "import names, distributions and versions (`PIL`, `scikit-learn`, `numpy==2.1`)",
        accept.names,
        form="import names",
        elsewhere=f"{IMPORTS} {PACKAGES}",
    )


@dataclass(frozen=True)
class _InUpstreamsOrder(_Imports):
    """Upstream's arguments by position; the groups of options define all but their order."""

    logger: Any = same_as(Arguments, "logger")
    allow_pickle: bool = False
    host: str = ""
    port: int | None = None
    image_name: str | None = None
    build_new_image: bool = True
    container_run_kwargs: Mapping[str, Any] | None = None
    dockerfile_content: str | None = None


@dataclass(frozen=True)
class DockerArguments(
    NetworkAccess, DockerOptions, EngineOption, PooledArguments, _InUpstreamsOrder
):
    """Arguments of the constructor; the first nine are upstream's, in upstream's order."""

    by_position: ClassVar[tuple[str, ...]] = (
        "additional_imports",
        "logger",
        "allow_pickle",
        "host",
        "port",
        "image_name",
        "build_new_image",
        "container_run_kwargs",
        "dockerfile_content",
    )

    _: KW_ONLY
    additional_authorized_imports: Sequence[str] = option(
        (),
        "`additional_imports`, as agents call it; both together are used",
        accept.names,
        form="import names",
        elsewhere=f"{IMPORTS} {PACKAGES}",
    )
    pool: DockerPool | None = option(
        None, "gives a ready container", DockerPool.check, form="a pool"
    )

    def check_together(self) -> None:
        """Refuse a list of hosts beside a network, or where its listener cannot travel."""
        super().check_together()
        if self.allowed_hosts is None:
            return
        self.check_environment("environment", self.environment or {})
        self.check_environment("container_run_kwargs['environment']", self.run_environment)
        for name in ("network", "network_mode"):
            self.check_network(self.run_arguments.get(name) or self.network)
        if self.pool is not None:
            raise ConfigurationError(
                f"allowed_hosts= with pool={self.pool!r}: the pool's containers were started "
                "without a proxy; omit one of them"
            )


@dataclass(frozen=True)
class SetupArguments(DockerOptions, EngineOption, _Imports):
    """Arguments of ``DockerExecutor.setup``."""

    by_position: ClassVar[tuple[str, ...]] = ("additional_imports",)

    _: KW_ONLY
    rebuild: bool = option(False, "build again, without the engine's cache", accept.flag)
    progress: Callable[[str], None] | None = option(
        None,
        "takes one line at a time; `None`: a display on a terminal, plain lines on standard error "
        "elsewhere",
        accept.function_or_none,
        form="function of one `str`",
    )

    def build_image(self) -> str:
        """Build the image and return its name; on a cluster of Ray, on every node."""
        provisioner = chosen_engine(self.engine, None, self).connect(ContainerOptions())
        try:
            spec = self.image_spec(self.additional_imports)
            prepare = provisioner.prepare_image
            if isinstance(provisioner, NodesProvisioner):
                prepare = provisioner.prepare_on_all_nodes
            if self.progress is not None:
                return prepare(spec, report=self.progress, rebuild=self.rebuild)
            with shown_progress() as report:
                return prepare(spec, report=report, rebuild=self.rebuild)
        finally:
            provisioner.close()

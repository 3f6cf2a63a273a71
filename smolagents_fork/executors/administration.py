"""Checks and preparation of the built-in executors, for the command line."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..distributions.requirements import requirements_for
from ..process.confinement_report import MeasureTable
from ..process.restrictions import landlock
from ..ray_cluster.ray_engine import RayEngine
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.docker.images.image_plans import CONFIG, DEFAULT_BASE_IMAGE, SCRIPT, image_folder
from ..sandboxes.docker.inspection.engine_checks import EngineChecks
from ..sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from ..sandboxes.kubernetes.pod_manifest import cluster_manifests, yaml_of
from ..sandboxes.package_index import index_check
from ..system.checks import Check, Finding, fail, ok, skip, warning
from ..system.host_pipe import run_program
from ..wasm.deno_binary import BARE_ENVIRONMENT, INSTALL, find_deno
from ..wasm.pyodide_files import VERSION, cache_folder, check_files
from .docker import DockerExecutor
from .local import LocalPythonExecutor
from .process import ProcessExecutor
from .wasm import WasmExecutor

__all__ = ["CHECKS", "PREPARATIONS", "cluster_files", "ray_checks"]

_RUN_SECONDS = 60.0
_START_SECONDS = 60.0
_DENO_SECONDS = 10.0
_RAY_SECONDS = 15.0
# Credentials may come from a program that the kubeconfig names.
_CLUSTER_SECONDS = 60.0
_TESTED_DENO = 2
_ELSEWHERE = "use executor_type='docker' or 'wasm'"
_IMAGE = "jupyter"
_IMAGE_FILES = (SCRIPT, "requirements.txt", "kernel_server.py")


def _run_check(
    make: Callable[[], AbstractContextManager[Any]],
    *,
    needs: str = "",
    missing: Callable[[], str] = lambda: "",
) -> Check:
    """Return a check that starts an executor and runs one line of code in it.

    Args:
        make: creates the executor, which the end of a ``with`` block closes.
        needs: name of an earlier check.
        missing: returns what a start would have to build or fetch first; the check is then skipped.
    """

    def run() -> Finding:
        if lacking := missing():
            return skip(f"needs: {lacking}")
        started = time.monotonic()
        with make() as executor:
            output = executor("1 + 1").output
        if output != 2:
            return fail(f"1 + 1 gave {output!r}", "report this as a bug")
        return ok(f"started and ran a line of code in {time.monotonic() - started:.1f} s")

    return Check("run", run, _RUN_SECONDS, needs)


def _local_checks() -> Sequence[Check]:
    return (_run_check(lambda: contextlib.nullcontext(LocalPythonExecutor([]))),)


def _docker_checks() -> Sequence[Check]:
    engine = EngineChecks()

    def missing() -> str:
        return "" if engine.has_image() else "image, which is not built yet"

    return (*engine.all(), _run_check(DockerExecutor, needs="engine", missing=missing))


# -- process: the measures of the kernel --


def _process_checks() -> Sequence[Check]:
    measures = _Measures()
    return (
        Check("system", _process_system),
        Check("confined child", measures.child, _START_SECONDS, needs="system"),
        Check("Landlock", measures.landlock, needs="confined child"),
        Check("seccomp", measures.seccomp, needs="confined child"),
        Check("user namespaces", measures.namespaces, needs="confined child"),
        _run_check(ProcessExecutor, needs="confined child"),
    )


def _process_system() -> Finding:
    if sys.platform == "linux":
        return ok("Linux")
    return fail(f"{sys.platform}: only Linux's kernel confines a process", _ELSEWHERE)


class _Measures:
    """Measures in force in a child that is started for the checks."""

    @functools.cached_property
    def _table(self) -> MeasureTable:
        return ProcessExecutor.measures()

    def child(self) -> Finding:
        missing = [row for row in self._table if not row.in_force]
        if not missing:
            return ok(f"starts, with all {len(self._table.rows)} measures in force")
        names = [row.measure for row in missing]
        return warning(
            f"starts, without: {'; '.join(f'{row.measure} ({row.missing})' for row in missing)}",
            f"{_ELSEWHERE}, or do without: allow_missing={tuple(names)!r}",
        )

    def landlock(self) -> Finding:
        row, version = self._table["filesystem"], landlock.abi_version()
        if row.in_force:
            return ok(f"version {version}")
        return fail(
            row.missing,
            "a kernel since 5.13 has it: add landlock to lsm= on its command line; in a "
            f"container, allow its three system calls (seccomp=). Or {_ELSEWHERE}",
        )

    def seccomp(self) -> Finding:
        row = self._table["syscalls"]
        if row.in_force:
            return ok(row.held_by)
        return fail(row.missing, f"needs Linux on x86_64 or aarch64. Or {_ELSEWHERE}")

    def namespaces(self) -> Finding:
        if "namespace" in self._table["network"].held_by:
            return ok("a child gets a network of its own, without interfaces")
        return warning(
            "this user may not create any: sockets are refused by seccomp alone",
            "a second barrier only: set kernel.unprivileged_userns_clone=1, or "
            "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu",
        )


# -- wasm: Deno, and Pyodide's files --


def _wasm_checks() -> Sequence[Check]:
    def missing() -> str:
        return "" if _pyodide_folder().is_dir() else "Pyodide, which is not fetched yet"

    return (
        Check("system", _wasm_system),
        Check("Deno", _deno, _DENO_SECONDS + 5, needs="system"),
        Check("Pyodide", _pyodide, needs="Deno"),
        index_check(),
        _run_check(WasmExecutor, needs="Pyodide", missing=missing),
    )


def _wasm_system() -> Finding:
    if sys.platform == "win32":
        return fail("Windows has not the means by which it waits", "use executor_type='docker'")
    return ok(sys.platform)


def _deno() -> Finding:
    deno = find_deno()
    command = [deno, "--version"]
    result = run_program(command, seconds=_DENO_SECONDS, environment=BARE_ENVIRONMENT, folder="/")
    match = re.match(r"deno (\d+)\.(\S+)", result.stdout)
    if result.returncode or match is None:
        return fail(f"{deno} does not run: {result.stdout.strip()[:300]}", INSTALL)
    text = f"{match[1]}.{match[2]} ({deno})"
    if int(match[1]) != _TESTED_DENO:
        return warning(f"{text}: only Deno {_TESTED_DENO} is tested", INSTALL)
    return ok(text)


def _pyodide_folder() -> Path:
    return cache_folder() / f"pyodide-{VERSION}"


def _pyodide() -> Finding:
    folder = _pyodide_folder()
    if not folder.is_dir():
        return warning(
            f"release {VERSION} is not fetched yet",
            "smolagents-fork setup wasm fetches it from npm, as the first start would; without a "
            "network pass pyodide_dir=",
        )
    check_files(str(folder))
    return ok(f"release {VERSION}, every file's sha256 is right ({folder})")


def _prepare_wasm(packages: Sequence[str]) -> str:
    # Packages are fetched at a start, and kept.
    with WasmExecutor(packages):
        return str(cache_folder())


# -- hosted services --


def _hosted_checks(
    extra: str, module: str, variable: str, file: str = ""
) -> Callable[[], Sequence[Check]]:
    """Return the checks of a hosted executor: its SDK and its credentials.

    Args:
        file: with credentials, in the user's home; empty for none.
    """

    def package() -> Finding:
        if importlib.util.find_spec(module) is not None:
            return ok(f"{module} is installed")
        return fail(f"{module} is not installed", f"pip install 'smolagents[{extra}]'")

    def credentials() -> Finding:
        # Their values are secrets; the service is not asked whether it accepts them.
        if os.environ.get(variable):
            return ok(f"{variable} is set")
        if file and Path.home().joinpath(file).is_file():
            return ok(f"~/{file} is there")
        return fail("none found", f"set {variable}")

    return lambda: (Check("package", package), Check("credentials", credentials))


# -- clusters --


def ray_checks() -> Sequence[Check]:
    """Return the check of the cluster that ``RAY_ADDRESS`` names."""

    def address() -> Finding:
        if not os.environ.get("RAY_ADDRESS"):
            return fail(
                "RAY_ADDRESS is not set",
                "set it to the address of the head, such as 10.0.0.1:6379, or pass "
                "RayEngine(address=...)",
            )
        ray_address = RayEngine().check()
        return ok(f"{ray_address} answers and takes the token of this process")

    return (Check("RAY_ADDRESS", address, _RAY_SECONDS, needs="package"),)


def _kubernetes_checks() -> Sequence[Check]:
    def cluster() -> Finding:
        provisioner = KubernetesEngine().connect(ContainerOptions())
        try:
            return ok(f"answers, with {len(provisioner.ours())} pods of this process")
        finally:
            provisioner.close()

    return (Check("cluster", cluster, _CLUSTER_SECONDS, needs="kubeconfig"),)


def cluster_files(
    namespace: str, image: str, warm_pool: str | None, packages: Sequence[str]
) -> dict[str, str]:
    """Return what an administrator of Kubernetes applies and builds once.

    Args:
        warm_pool: name of a warm pool to make; ``None``: none.
        packages: import names; their distributions are installed in the image.

    Returns:
        ``manifests`` as YAML, the image's ``dockerfile``, and ``context``, the folder to build in.
    """
    # Checks the names.
    KubernetesEngine(namespace=namespace, warm_pool=warm_pool)
    folder = image_folder(_IMAGE)
    lines = [
        f"FROM {DEFAULT_BASE_IMAGE}",
        "WORKDIR /build",
        f"COPY {' '.join(_IMAGE_FILES)} ./",
        f"RUN sh {SCRIPT} && cd / && rm -rf /build",
    ]
    if requirements := requirements_for(packages):
        named = shlex.join(requirements)
        lines.append(f"RUN /opt/kernel/bin/python -m pip install --no-cache-dir -- {named}")
    config = folder.joinpath(CONFIG).read_text("utf-8").rstrip()
    return {
        "manifests": yaml_of(cluster_manifests(namespace, image=image, warm_pool=warm_pool)),
        "dockerfile": "\n".join([*lines, config, ""]),
        "context": str(folder),
    }


#: Executor -> function that returns the checks that say whether it runs here, in their order.
CHECKS: Mapping[str, Callable[[], Sequence[Check]]] = {
    "local": _local_checks,
    "process": _process_checks,
    "docker": _docker_checks,
    "wasm": _wasm_checks,
    "kubernetes": _kubernetes_checks,
    "ray": ray_checks,
    "blaxel": _hosted_checks("blaxel", "blaxel", "BL_API_KEY", ".blaxel/config.yaml"),
    "e2b": _hosted_checks("e2b", "e2b_code_interpreter", "E2B_API_KEY"),
    "modal": _hosted_checks("modal", "modal", "MODAL_TOKEN_ID", ".modal.toml"),
}
#: Executor -> function that builds or fetches what its first start would, for packages as in
#: ``additional_authorized_imports``, and returns the image or folder that starts use.
PREPARATIONS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "docker": DockerExecutor.setup,
    "wasm": _prepare_wasm,
}

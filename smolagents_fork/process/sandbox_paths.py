"""Paths of a child's modules, and the files and folders it may read to import them."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .confinement_report import Kernel
from .restrictions.control_groups import control_group_folders
from .restrictions.syscalls import NetworkScope

__all__ = [
    "OWN_PROCESS_FILES",
    "Layout",
    "layout_for",
]

# Files with which OpenSSL finds certificates. Named one by one: the folders above them also have
# the private keys of this machine.
_CERTIFICATES = (
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
)  # fmt: skip
# Files with which C libraries resolve host names.
_NAMES = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols",
)  # fmt: skip
_FILES_FOR: dict[NetworkScope, tuple[str, ...]] = {
    "none": (),
    "proxy": _CERTIFICATES,
    "host": (*_NAMES, *_CERTIFICATES),
}

#: Files of ``/proc/self`` that libraries read to find limits and memory. They are about the process
#: itself; ``environ``, ``mountinfo`` and ``net`` are about the host.
OWN_PROCESS_FILES = ("cgroup", "maps", "stat", "statm", "status")

# Files of a control group that have its limits, which libraries read after ``cgroup``: numbers.
_LIMITS = (
    "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.high", "memory.max",
    "memory.limit_in_bytes",
)  # fmt: skip

# Importing these is slow, and forking afterwards is safe.
_WORTH_PRELOADING = ("numpy", "pandas")


@dataclass(frozen=True)
class Layout:
    """Settings that all children of a fork server share; nothing in it is of one executor.

    Attributes:
        path: their ``sys.path``.
        readable: files and folders of libraries, which they may read.
        listable: folders whose names they may list, since imports search them.
        preload: modules that the fork server imports for them.
        network: what they may reach.
        kernel: the kernel features that may be used.
    """

    path: tuple[str, ...]
    readable: tuple[str, ...]
    listable: tuple[str, ...]
    preload: tuple[str, ...]
    network: NetworkScope = "none"
    kernel: Kernel = field(default_factory=Kernel)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Layout:
        """Rebuild it from what JSON has made of ``dataclasses.asdict(layout)``."""
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        return cls(**{**data, **lists, "kernel": Kernel(**data["kernel"])})


def layout_for(
    imports: Iterable[str], *, network: NetworkScope = "none", kernel: Kernel | None = None
) -> Layout:
    """Return the layout for children that may import ``imports``.

    Only the standard library, installed packages, this package and the named modules are readable,
    because the folder of a project contains more than its modules.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.path.dirname(package)
    libraries = _library_folders()
    installed = [os.path.abspath(p) for p in sys.path if p and _is_library(p, libraries)]
    modules: dict[str, str] = {}
    packages = {name.split(".")[0] for name in imports if name and name != "*"}
    for name in packages:
        for origin in _origins(name):
            if not any(origin.startswith(folder + os.sep) for folder in installed):
                modules[origin] = os.path.dirname(origin)
    # Not the prefixes themselves: a prefix may be a home folder, which must not be readable.
    prefixes = [
        os.path.join(prefix, part)
        for prefix in (sys.prefix, sys.base_prefix)
        for part in ("lib", "lib64")
    ]
    system = [
        *prefixes, sysconfig.get_path("stdlib"), "/lib", "/lib64", "/usr/lib",
        "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/fonts", "/etc/fonts",
        "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/proc/cpuinfo", "/proc/meminfo",
        "/sys/devices/system", *(f"/proc/self/{name}" for name in OWN_PROCESS_FILES),
        *_limit_files(), *_FILES_FOR[network],
    ]  # fmt: skip
    listable = [root, *modules.values()]
    preload = [name for name in _WORTH_PRELOADING if name in packages]
    return Layout(
        path=tuple(dict.fromkeys([*installed, root, *modules.values()])),
        readable=tuple(dict.fromkeys([*installed, package, *modules, *system])),
        listable=tuple(dict.fromkeys(listable)),
        preload=tuple(preload),
        network=network,
        kernel=kernel or Kernel(),
    )


def _limit_files() -> list[str]:
    """Return the files with the limits of this process's control groups, and of the topmost."""
    files = [os.path.join(folder, name) for folder in control_group_folders() for name in _LIMITS]
    return [file for file in files if os.path.isfile(file)]


def _is_library(folder: str, libraries: set[str]) -> bool:
    folder = os.path.abspath(folder)
    if os.path.basename(folder) in ("site-packages", "dist-packages") or folder.endswith(".zip"):
        return True
    return folder in libraries


def _library_folders() -> set[str]:
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    modules = (os.path.join(path, "lib-dynload") for path in stdlib)
    return {*stdlib, *modules, *site.getsitepackages()}


def _origins(name: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [os.path.abspath(place) for place in spec.submodule_search_locations]
    return [os.path.abspath(spec.origin)] if spec.has_location and spec.origin else []

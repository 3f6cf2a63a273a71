"""Kubernetes' programs, built from the source package of this Debian and kept by a hash.

The source package has its vendored modules, so the build needs no other registry. The machine's own
entries for packages serve as entries for sources, in a folder of apt's own: the machine's settings
stay as they are. What is built is kept in the user's cache, outside of any checkout.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from tools.command import clean_environment, run
from tools.errors import CommandError, ToolError

__all__ = ["PROGRAMS", "ClusterUnavailable", "SourceUnavailable", "build", "cache_folder"]

PROGRAMS = ("kube-apiserver", "kube-scheduler", "kubelet")
_NEEDED = {"go": "golang-go", "rsync": "rsync", "dpkg-source": "dpkg-dev", "make": "make"}
_DOWNLOAD_SECONDS = 300.0
_UNPACK_SECONDS = 120.0
_BUILD_SECONDS = 2400.0
# Capability that lowers oom_score_adj (capabilities(7)): bit 24 is CAP_SYS_RESOURCE.
_SYS_RESOURCE = 1 << 24
# Files with constants of oom_score_adj that are below zero, and the constants.
_SCORES = {
    "pkg/kubelet/qos/policy.go": r"(OOMScoreAdj +int = )-\d+",
    "pkg/kubelet/dockershim/docker_sandbox.go": r"(defaultSandboxOOMAdj int = )-\d+",
    "pkg/kubelet/dockershim/cm/container_manager_linux.go": r"(dockerOOMScoreAdj = )-\d+",
}
# A source package is no git checkout, from which the build would take its version.
_VERSION = """KUBE_GIT_COMMIT=''
KUBE_GIT_TREE_STATE='archive'
KUBE_GIT_VERSION='v{0}.{1}.{2}'
KUBE_GIT_MAJOR='{0}'
KUBE_GIT_MINOR='{1}'
"""


class ClusterUnavailable(ToolError):
    """This machine cannot have a cluster: a package or a program is missing."""


class SourceUnavailable(ClusterUnavailable):
    """The machine's package index has no source package, or gives none in time."""


def cache_folder() -> Path:
    """Return the folder of the user's cache for clusters; made if it is missing."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "smolagents-fork" / "kubernetes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build() -> Path:
    """Return a folder with :data:`PROGRAMS`, which are built if the cache has none.

    Takes a quarter of an hour of two processors, and half a minute of the network.

    Raises:
        SourceUnavailable: the source package cannot be downloaded.
        ClusterUnavailable: no compiler, or no other program that builds.
        CommandError: the build failed, or took more than forty minutes.
        TimeoutError: another process builds for longer than that.
    """
    recipe = Path(__file__).read_bytes()
    name = f"{recipe!r} {platform.machine()} {_release()} {_may_lower_scores()}"
    folder = cache_folder() / hashlib.sha256(name.encode()).hexdigest()[:20]
    with FileLock(cache_folder() / "build.lock", timeout=_BUILD_SECONDS):
        if not folder.exists():
            _build(folder)
    return folder


def _release() -> str:
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def _build(folder: Path) -> None:
    missing = [package for program, package in _NEEDED.items() if not shutil.which(program)]
    if missing:
        raise ClusterUnavailable(f"the build needs the packages {' '.join(missing)}: install them")
    with tempfile.TemporaryDirectory(prefix="kubernetes-build-") as scratch:
        source = _source(Path(scratch))
        _change(source)
        built = _compile(source, Path(scratch))
        # The folder is there only when it is complete.
        incomplete = folder.with_suffix(".incomplete")
        shutil.rmtree(incomplete, ignore_errors=True)
        incomplete.mkdir()
        for program in PROGRAMS:
            shutil.copy2(built / program, incomplete)
        incomplete.rename(folder)


def _source(scratch: Path) -> Path:
    """Download and unpack the source package; return its top folder."""
    entries, lists = scratch / "entries", scratch / "lists"
    entries.mkdir()
    (lists / "partial").mkdir(parents=True)
    _write_entries(entries)
    apt = (
        "apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null",
        "-o", f"Dir::Etc::sourceparts={entries}", "-o", f"Dir::State::lists={lists}",
        "-o", "APT::Sandbox::User=root",
    )  # fmt: skip
    try:
        run([*apt, "update"], timeout_seconds=_DOWNLOAD_SECONDS)
        run(
            [*apt, "source", "--download-only", "kubernetes"],
            timeout_seconds=_DOWNLOAD_SECONDS,
            cwd=scratch,
        )
    except CommandError as error:
        raise SourceUnavailable(f"the source package cannot be downloaded: {error}") from None
    described = next(scratch.glob("kubernetes_*.dsc"), None)
    if described is None:
        raise SourceUnavailable(
            "the source package cannot be downloaded: apt-get downloaded nothing"
        )
    source = scratch / "source"
    # apt has verified the checksums by the signed lists.
    run(["dpkg-source", "--no-check", "-x", described, source], timeout_seconds=_UNPACK_SECONDS)
    return source


def _write_entries(folder: Path) -> None:
    """Write the machine's entries for packages as entries for sources."""
    apt = Path("/etc/apt")
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        if path.suffix == ".sources":
            text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text("utf-8"))
        elif path.suffix == ".list" and path.is_file():
            text = re.sub(r"(?m)^deb\s", "deb-src ", path.read_text("utf-8"))
        else:
            continue
        (folder / path.name).write_text(text, "utf-8")


def _may_lower_scores() -> bool:
    status = Path("/proc/self/status").read_text("ascii")
    match = re.search(r"(?m)^CapEff:\s*([0-9a-f]+)$", status)
    return bool(match and int(match[1], 16) & _SYS_RESOURCE)


def _change(source: Path) -> None:
    """Set scores below zero to zero where the machine may not lower them."""
    if _may_lower_scores():
        return
    for name, pattern in _SCORES.items():
        path = source / name
        text, count = re.subn(pattern, r"\g<1>0", path.read_text("utf-8"))
        if not count:
            raise ToolError(f"{name} of the source package has no {pattern}")
        path.write_text(text, "utf-8")


def _compile(source: Path, scratch: Path) -> Path:
    """Compile the programs as the package's own rules do; return their folder."""
    packages = source / ".go" / "src" / "k8s.io"
    packages.mkdir(parents=True)
    (packages / "kubernetes").symlink_to("../../..")
    release = re.search(r"v?(\d+)\.(\d+)\.(\d+)", _upstream_version(source))
    if release is None:
        raise ToolError("the source package has no version")
    (scratch / "version").write_text(_VERSION.format(*release.groups()), "ascii")
    environment = clean_environment() | {
        "GOPATH": str(source / ".go"),
        "CGO_ENABLED": "0",
        "HOME": str(scratch),
        "GOCACHE": str(scratch / "objects"),
        "GOPROXY": "off",
        "GOFLAGS": "-mod=vendor -tags=providerless",
        "KUBE_GIT_VERSION_FILE": str(scratch / "version"),
    }
    log = cache_folder() / "build.log"
    what = " ".join(f"cmd/{program}" for program in PROGRAMS)
    run(
        ["make", f"WHAT={what}"],
        timeout_seconds=_BUILD_SECONDS,
        cwd=source,
        env=environment,
        log=log,
    )
    return source / "_output" / "bin"


def _upstream_version(source: Path) -> str:
    """Return the version of the source, whose package may say that it "really" is another."""
    words = ["dpkg-parsechangelog", "--show-field", "Version"]
    done = subprocess.run(
        words, cwd=source, capture_output=True, text=True, check=True, timeout=_UNPACK_SECONDS
    )
    return done.stdout.rpartition("really")[2]

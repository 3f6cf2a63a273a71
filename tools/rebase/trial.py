"""Tries the result out: a copy of the checkout with it, the wheel built from that, the tests."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from tools.git import Git
from tools.paths import Project
from tools.rebase.commands import run
from tools.rebase.state import Folder, RebaseError
from tools.series.tests_named import missing_test

__all__ = [
    "TestResult",
    "build_wheel",
    "copy_checkout",
    "make_environment",
    "prepare_tests",
    "run_tests",
    "tree_digest",
]

BUILD_TIMEOUT_SECONDS = 900.0
INSTALL_TIMEOUT_SECONDS = 900.0
# For the tests of one patch.
TEST_TIMEOUT_SECONDS = 600.0

# Left out of the copy of a folder that is no git repository.
_NOT_COPIED = (
    ".git", ".rebase", ".venv", "build", "dist", "reports", "node_modules",
    ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__",
    "*.pyc", "*.egg-info",
)  # fmt: skip


@dataclass(frozen=True)
class TestResult:
    """What the tests of one patch said.

    Attributes:
        patch: the patch's file name.
        is_dropped: the patch is gone, so its behaviour has to come from upstream.
        passed: how many test cases passed.
        problem: what is wrong; empty when nothing is.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    patch: str
    is_dropped: bool
    passed: int
    problem: str


def copy_checkout(project: Project, target: Path, files: dict[str, bytes | None]) -> None:
    """Copy the checkout's own files and put new ones over them.

    Args:
        project: the checkout.
        target: a folder; what it holds is removed first.
        files: bytes by path to write over the copy; None deletes.
    """
    if target.exists():
        shutil.rmtree(target)
    if (project.root / ".git").exists():
        listing = Git(project.root).run(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard"
        )
        for name in sorted(set(listing.stdout.decode("utf-8").split("\0")) - {""}):
            source = project.root / name
            if source.is_file():  # one may be deleted and not yet committed
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target / name)
    else:
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(project.root, target, ignore=ignored)
    for name, data in files.items():
        path = target / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def tree_digest(folder: Path) -> str:
    """Digest of every file below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            digest.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def build_wheel(folder: Folder, keep_open: tuple[int, ...]) -> Path:
    """Build the wheel from the copy with pip, as a user's pip would.

    Raises:
        CommandError: it cannot be built; carries pip's last words.
    """
    if folder.wheels.exists():
        shutil.rmtree(folder.wheels)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-input", "--wheel-dir"]
    run(
        [*command, folder.wheels, folder.copy],
        folder.logs / "build.log",
        timeout_seconds=BUILD_TIMEOUT_SECONDS,
        cwd=folder.path,
        keep_open=keep_open,
    )
    wheels = sorted(folder.wheels.glob("smolagents-*.whl"))
    if len(wheels) != 1:
        raise RebaseError(f"expected one wheel from pip wheel, got {[w.name for w in wheels]}")
    return wheels[0]


def make_environment(
    project: Project, folder: Folder, wheel: Path, keep_open: tuple[int, ...], *, borrow: bool
) -> Path:
    """Make a fresh virtual environment with the wheel and what tests need; returns its Python.

    Args:
        project: the checkout, whose ``requirements-dev.txt`` says what tests need.
        folder: the rebase's folder.
        wheel: the built wheel.
        keep_open: descriptors that children inherit.
        borrow: take every other package from the environment this command runs in, and install
            the wheel alone: quick, and wrong when the new release needs other dependencies.

    Raises:
        CommandError: pip failed; carries its last words.
    """
    if folder.environment.exists():
        shutil.rmtree(folder.environment)
    log = folder.logs / "install.log"

    def call(*command: str | Path) -> None:
        run(
            command,
            log,
            timeout_seconds=INSTALL_TIMEOUT_SECONDS,
            cwd=folder.path,
            keep_open=keep_open,
        )

    options = ["--without-pip"] if borrow else []
    call(sys.executable, "-m", "venv", *options, folder.environment)
    python = folder.environment / "bin" / "python"
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-input"]
    if borrow:
        site = subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], text=True
        ).strip()
        own = dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
        # A .pth is read after the environment's own folder, so the wheel goes first.
        (Path(site) / "borrowed.pth").write_text("".join(f"{path}\n" for path in own), "utf-8")
        call(*install, "--no-deps", "--ignore-installed", wheel)
    else:
        call(*install, wheel, "--requirement", project.root / "requirements-dev.txt")
    return python


def prepare_tests(folder: Folder) -> None:
    """Copy all but the package, so that a test can only import what the wheel has installed."""
    if folder.tests.exists():
        shutil.rmtree(folder.tests)
    shutil.copytree(folder.copy, folder.tests, ignore=shutil.ignore_patterns("smolagents_fork"))


def run_tests(
    folder: Folder,
    python: Path,
    patch: str,
    tests: tuple[str, ...],
    keep_open: tuple[int, ...],
    *,
    is_dropped: bool,
) -> TestResult:
    """Run the tests that a patch names against the installed wheel.

    A test that is skipped shows nothing, so it counts as failed.

    Args:
        folder: the rebase's folder.
        python: the environment's Python.
        patch: the patch's file name.
        tests: pytest ids.
        keep_open: descriptors that children inherit.
        is_dropped: the patch is gone from the series.
    """

    def result(problem: str, passed: int = 0) -> TestResult:
        return TestResult(patch, is_dropped, passed, problem)

    if is_dropped:
        # Who drops a patch on purpose removes its tests; then there is nothing to hold it to.
        tests = tuple(test for test in tests if missing_test(folder.tests, test) is None)
        if not tests:
            return result("")
    faults = [fault for test in tests if (fault := missing_test(folder.tests, test))]
    if faults or not tests:
        return result("; ".join(faults) or "it names no test")
    junit = folder.logs / f"{patch}.xml"
    junit.unlink(missing_ok=True)
    log = folder.logs / f"{patch}.log"
    command: list[str | Path] = [python, "-m", "pytest", "-p", "no:cacheprovider"]
    status = run(
        [*command, f"--junitxml={junit}", *tests],
        log,
        timeout_seconds=TEST_TIMEOUT_SECONDS,
        cwd=folder.tests,
        keep_open=keep_open,
        accepted=range(6),
    )
    counts = _counts(junit)
    passed = counts["tests"] - counts["skipped"] - counts["failures"] - counts["errors"]
    if status or counts["skipped"] or passed < len(tests):
        words = [
            line
            for line in log.read_text("utf-8", "replace").splitlines()
            if line.startswith(("E  ", "FAILED", "ERROR", "SKIPPED"))
        ]
        text = "\n".join(words[-12:]) or f"pytest exited {status}; see {log.name}"
        return result(text, passed)
    return result("", passed)


def _counts(junit: Path) -> dict[str, int]:
    names = ("tests", "skipped", "failures", "errors")
    if not junit.exists():
        return dict.fromkeys(names, 0)
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    return {name: int(suite.get(name, "0")) if suite is not None else 0 for name in names}

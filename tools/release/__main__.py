"""``python -m tools.release``: date the changelog, commit, tag, make every file, bump."""

from __future__ import annotations

import argparse
import datetime
import io
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from buildsys.errors import BuildError
from buildsys.lock import load
from buildsys.version import fork_version, read_version_file, write_version_file
from tools.changelog import with_date, with_release
from tools.command import run
from tools.errors import ReleaseError, ToolError
from tools.git import Git
from tools.paths import ROOT, Project
from tools.release.artifacts import write_artifacts
from tools.uv import Uv
from tools.version_pages import restate_pages

__all__ = ["export_release", "main", "release"]


def _maintainer_git(project: Project, *arguments: str) -> None:
    """Run git with the maintainer's own configuration: their name and signature."""
    run(["git", *arguments], timeout_seconds=60, cwd=project.root)


def _commit(project: Project, subject: str, body: str) -> None:
    _maintainer_git(project, "commit", "--quiet", "--all", "-m", subject, "-m", body)


def _check_ready(git: Git, tag: str) -> None:
    if changed := git.text("status", "--porcelain"):
        raise ReleaseError(f"the checkout has changes; commit or stash them first:\n{changed}")
    if git.succeeds("rev-parse", "--verify", "--quiet", f"refs/tags/{tag}"):
        raise ReleaseError(f"the tag {tag} exists already; the version is in _version.py")


def export_release(project: Project, version: str, folder: Path, date: str | None) -> Project:
    """Export HEAD with a dated changelog: the tree that a release's files are made from.

    Args:
        project: the checkout.
        version: the fork's version.
        folder: an empty folder to write to.
        date: ISO date for the changelog; None when HEAD has it already, as a tag does.

    Raises:
        ReleaseError: the changelog has no unreleased section for the version.
    """
    # What git has: no untracked file gets into a release.
    archive = Git(project.root).run("archive", "--format=tar", "HEAD").stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    tree = Project(folder)
    if date is not None:
        text = tree.changelog.read_text("utf-8")
        tree.changelog.write_text(with_date(text, version, date), "utf-8")
    return tree


def release(project: Project, out: Path, date: str | None, *, commit: bool) -> str:
    """Make a release of the checkout's HEAD.

    The files are made before anything is committed, so that a failure changes nothing.

    Args:
        project: the checkout.
        out: folder for the files; what is in it is replaced.
        date: see :func:`export_release`.
        commit: also commit the date, tag it and begin the next version.

    Returns:
        The released version.

    Raises:
        ReleaseError: the checkout is not ready.
        CommandError: a build, a resolution or git failed.
    """
    version = fork_version(project.version_file, load(project.lock))
    tag = f"v{version}"
    if commit:
        _check_ready(Git(project.root), tag)
    with tempfile.TemporaryDirectory(prefix="smolagents-release-") as scratch:
        folder, artifacts = Path(scratch, "tree"), Path(scratch, "made")
        folder.mkdir()
        artifacts.mkdir()
        tree = export_release(project, version, folder, date)
        dated = tree.changelog.read_text("utf-8")
        write_artifacts(tree.root, version, artifacts, Uv())
        if out.exists():
            shutil.rmtree(out)
        shutil.copytree(artifacts, out)
    if commit:
        project.changelog.write_text(dated, "utf-8")
        _commit(project, f"release: date {version}", "The tag names this commit.")
        _maintainer_git(project, "tag", "--annotate", tag, "-m", f"smolagents {version}")
        _begin_next(project, dated)
    return version


def _begin_next(project: Project, changelog: str) -> None:
    """Commit the next revision and its empty section of the changelog."""
    upstream, revision = read_version_file(project.version_file)
    following = f"{upstream}+fork.{revision + 1}"
    write_version_file(project.version_file, upstream, revision + 1)
    project.changelog.write_text(with_release(changelog, following), "utf-8")
    for name, content in restate_pages(project.root, upstream, following).items():
        (project.root / name).write_bytes(content or b"")
    _commit(project, f"release: begin {following}", "Changes from here on belong to it.")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; 0 is success, 2 that the release could not be made."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--dry", action="store_true", help="make the files only")
    mode.add_argument("--tagged", action="store_true", help="the files only, of a tagged HEAD")
    parser.add_argument("--date", default=today, help="ISO date for the changelog (default: today)")
    options = parser.parse_args(arguments)
    out = root / "dist" / "release"
    try:
        date = None if options.tagged else options.date
        version = release(Project(root), out, date, commit=not (options.dry or options.tagged))
    except (BuildError, OSError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print((out / "SHA256SUMS").read_text("utf-8"), end="")
    if options.dry or options.tagged:
        print(f"{version}: files only; nothing is committed or tagged")
    else:
        print(f"{version} is committed and tagged. To publish: git push --follow-tags")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

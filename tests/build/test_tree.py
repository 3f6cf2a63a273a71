"""Verify, prune, apply, stamp: errors that stop a build, and their messages."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.release import installed_release
from buildsys.series import load_prune_list
from buildsys.stamps import Stamp, apply_stamps
from buildsys.tree import fork_tree, write_tree
from tools.paths import CACHE, ROOT
from tools.upstream.fetch import fetch_wheel

pytestmark = pytest.mark.network

UPSTREAM = lockfile.load(ROOT / "upstream.lock").version


def error_of(project: Path, site: Path) -> str:
    with pytest.raises(BuildError) as caught:
        fork_tree(project, site)
    return str(caught.value)


def relock(project: Path, site: Path, *names: str) -> None:
    """Accept changed or new files of the release, as a maintainer would after a review."""
    path = project / "upstream.lock"
    data = json.loads(path.read_text())
    for name in names:
        data["files"][name] = hashlib.sha256((site / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(data))


def prune(project: Path, name: str) -> None:
    path = project / "patches" / "prune.list"
    path.write_text(f"{path.read_text()}{name}\n")


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_tree_is_patched_stamped_and_pruned(project, site):
    tree = fork_tree(project, site)
    assert f'__version__ = "{UPSTREAM}+fork.1"\n'.encode() in tree["smolagents/__init__.py"]
    assert b"select_executor(self, executor, executor_class)" in tree["smolagents/agents.py"]
    assert b"# Modified for smolagents " in tree["smolagents/agents.py"]
    assert b"# Modified for" not in tree["smolagents/memory.py"]
    assert not set(load_prune_list(project / "patches")) & set(tree)


def test_pruned_modules_are_imported_by_nothing(project, site):
    """Also by their names in texts, as modules are that are imported on first use."""
    names: set[str] = set()
    for path, data in fork_tree(project, site).items():
        for node in ast.walk(ast.parse(data)) if path.endswith(".py") else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {one.name.rpartition(".")[2] for one in node.names}
            if isinstance(node, ast.ImportFrom):
                names.add((node.module or "").rpartition(".")[2])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value.rpartition(".")[2])
    pruned = {Path(path).stem for path in load_prune_list(project / "patches")}
    assert not pruned & names, "the release uses them: take them from patches/prune.list"


def test_release_itself_is_never_touched(project, site):
    before = files_of(site)
    fork_tree(project, site)
    assert files_of(site) == before


def test_every_modified_file_carries_the_notice(project, site):
    for name, content in fork_tree(project, site).items():
        modified = content != (site / name).read_bytes()
        assert modified == (b"# Modified for smolagents " in content), name


def test_wrong_byte_names_the_file_and_both_sums(project, site):
    path = site / "smolagents" / "tools.py"
    path.write_bytes(path.read_bytes().replace(b"import", b"Import", 1))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    expected = lockfile.load(project / "upstream.lock").files["smolagents/tools.py"]
    assert error_of(project, site).startswith(
        f"smolagents/tools.py: sha256 is {found}, expected {expected} (upstream.lock)"
    )


def test_installer_files_are_not_part_of_the_release(project, site):
    info = next(site.glob("*.dist-info"))
    for name in ("INSTALLER", "REQUESTED", "direct_url.json"):
        (info / name).write_text("pip")
    (site / "smolagents" / "__pycache__").mkdir()
    (site / "smolagents" / "__pycache__" / "cli.cpython-311.pyc").write_bytes(b"")
    assert fork_tree(project, site)


def test_file_that_is_pruned_is_not_in_the_tree(project, site):
    (site / "smolagents" / "notes.bak.py").write_text("")
    relock(project, site, "smolagents/notes.bak.py")
    assert "smolagents/notes.bak.py" in fork_tree(project, site)
    prune(project, "smolagents/notes.bak.py")
    assert "smolagents/notes.bak.py" not in fork_tree(project, site)


def test_hunk_that_does_not_match_names_patch_file_line_and_both_texts(project, site):
    patch = project / "patches" / "idempotent-cleanup.patch"
    damaged = patch.read_bytes().replace(b"     def cleanup(self):", b"     def clean_up(self):")
    assert damaged != patch.read_bytes()
    patch.write_bytes(damaged)
    text = error_of(project, site)
    assert re.match(
        r"patches/idempotent-cleanup\.patch:\d+: hunk 1 of smolagents/agents\.py does not match at "
        r"line \d+: expected b'    def clean_up\(self\):\\n', found b'    def cleanup\(self\):\\n'",
        text,
    ), text


LOCK, SERIES = "project/upstream.lock", "project/patches/series"
PATCH, VERSION = "project/patches/executor-class.patch", "project/smolagents_fork/_version.py"
SERIES_LINES = len((ROOT / "patches" / "series").read_text("utf-8").splitlines())
INFO = f"site/smolagents-{UPSTREAM}.dist-info"
REVISION = f'upstream_version = "{UPSTREAM}"\nfork_revision'.encode()


def add(text: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content + text


def put(text: bytes) -> Callable[[bytes], bytes]:
    return lambda _content: text


@pytest.mark.parametrize(
    ("path", "damage", "words"),
    [
        ("site/smolagents/cli.py", None, "smolagents/cli.py: in the lock, but not in the installed"),
        ("site/smolagents/extra.py", add(b""),
         "smolagents/extra.py: in the installed release, but not in upstream.lock"),
        (f"{INFO}/RECORD", None, "RECORD: cannot be read"),
        # pip's --no-binary builds a wheel of its own, whose WHEEL file names another generator.
        (f"{INFO}/WHEEL", lambda wheel: wheel.replace(b"Generator:", b"Generator: other"),
         "it must be installed from the release's own wheel: allow wheels (no --no-binary) for "
         "smolagents"),
        ("project/patches/prune.list", add(b"smolagents/gone.py\n"),
         "patches/prune.list: 'smolagents/gone.py' is not in"),
        ("project/patches/forgotten.patch", add(b""), "forgotten.patch in ... is not listed; list or remove it"),
        (SERIES, add(b"gone.patch\n"), f"series:{SERIES_LINES + 1}: 'gone.patch' is listed, but"),
        (SERIES, add(b"executor-class.patch\n"),
         "'executor-class.patch' is listed twice; expected once"),
        (SERIES, put(b"\xff\xfe"), "series: not UTF-8"),
        (PATCH, lambda patch: re.sub(rb"@@ -\d+", b"@@ -" + b"1" * 5000, patch, count=1),
         "executor-class.patch: ... : malformed hunk header b'@@ -111"),
        (PATCH, lambda patch: patch.replace(b"\n", b"\r\n"),
         "executor-class.patch:1: has CRLF line ends, which no hunk matches: the clone converted "
         "them. Clone again with `git clone -c core.autocrlf=false`"),
        (VERSION, put(b'upstream_version = "1.0.0"\nfork_revision = 1\n'),
         "upstream_version is '1.0.0', upstream.lock has"),
        (VERSION, put(REVISION + b" = True"), f"got '{UPSTREAM}' and True"),
        (VERSION, put(REVISION + b" = f()"), "expected two constants, but reading failed"),
        (VERSION, put(REVISION + b" ="), "expected two constants, but reading failed"),
        (LOCK, put(b"{"), "upstream.lock: not JSON: "),
        (LOCK, put(b"[" * 100_000), "upstream.lock: not JSON: "),
        (LOCK, put(b"[]"), "expected an object with format 2"),
        (LOCK, put(b'{"format": 1}'), "expected an object with format 2"),
        (LOCK, put(b'{"format": 2}'), "fields are missing or unknown"),
    ],
)  # fmt: skip
def test_damaged_input_is_named(project, site, path, damage, words):
    file = project.parent / path
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes() if file.exists() else b""))
    error = error_of(project, site)
    assert [part for part in words.split(" ... ") if part not in error] == [], error


@pytest.mark.parametrize("times", [0, 2])
def test_version_text_found_zero_or_two_times_is_an_error(project, site, times):
    path = site / "smolagents" / "__init__.py"
    line = f'__version__ = "{UPSTREAM}"\n'.encode()
    content = path.read_bytes()
    (project / "patches" / "series").write_text("")
    for patch in (project / "patches").glob("*.patch"):
        patch.unlink()
    path.write_bytes(content + line if times == 2 else content.replace(line, b""))
    lines = content.splitlines(keepends=True)
    where = rf" \(lines {lines.index(line) + 1}, {len(lines) + 1}\)" if times == 2 else ""
    relock(project, site, "smolagents/__init__.py")
    text = error_of(project, site)
    expected = rf"smolagents/__init__\.py: the text to stamp, .*, occurs {times} times{where}; exp"
    assert re.match(expected, text), text


def test_missing_licence_header_stops_the_notice(project, site):
    with pytest.raises(BuildError, match=r"a\.py: the text to stamp, b'x', occurs 3 times \(lines"):
        apply_stamps({"a.py": b"x\nx x"}, [Stamp("a.py", b"x", b"y")])
    with pytest.raises(BuildError, match=r"b\.py: to be stamped, but not in the tree"):
        apply_stamps({}, [Stamp("b.py", b"x", b"y")])


def test_release_whose_wheel_brings_another_file_is_refused(project, tmp_path):
    """A wheel with an extra ``zz.pth`` runs code in each process of the build environment."""
    made = tmp_path / f"smolagents-{UPSTREAM}-py3-none-any.whl"
    record = f"smolagents-{UPSTREAM}.dist-info/RECORD"
    with zipfile.ZipFile(fetch_wheel(UPSTREAM, CACHE)) as real, zipfile.ZipFile(made, "w") as copy:
        for name in real.namelist():
            copy.writestr(name, real.read(name) + b"zz.pth,,\n" * (name == record))
        copy.writestr("zz.pth", "import sys")
    out = tmp_path / "installed"
    command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target"]
    subprocess.run([*command, out, made], check=True, timeout=120)
    assert error_of(project, out).startswith(
        "zz.pth: the installed release's RECORD lists it, but upstream.lock does not; its code may"
    )


def test_console_scripts_that_installers_record_are_accepted(project, site):
    record = next(site.glob("*.dist-info")) / "RECORD"
    scripts = "../../../bin/smolagent,,\n../../Scripts/webagent.exe,,\n"
    record.write_text(record.read_text() + scripts)
    assert fork_tree(project, site)


def with_lock(project, **changes):
    path = project / "upstream.lock"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("dependencies", "requests", "dependencies: expected a list of texts, got 'requests'"),
        ("dependencies", [1], "dependencies[0]: expected one line of text, got 1"),
        ("dependencies", ["a\nb"], r"dependencies[0]: expected one line of text, got 'a\nb'"),
        ("dependencies", ["a b"], "dependencies[0]: expected a requirement such as 'rich>=13.9.4'"),
        ("extras", {"mcp": ["<2"]}, "extras.mcp[0]: expected a requirement such as 'rich>=13.9.4'"),
        ("extras", [], "extras: expected an object, got []"),
        ("extras", {"mcp": "mcp"}, "extras.mcp: expected a list of texts, got 'mcp'"),
        ("entry_points", {"a": 1}, "entry_points.a: expected an object, got 1"),
        ("entry_points", {"a": {"b": 1}}, "entry_points.a.b: expected one line of text, got 1"),
        ("version", 1.26, "version: expected a release's version such as '1.26.0', got 1.26"),
        ("version", "1.0 --pre", "version: expected a release's version"),
        ("requires_python", None, "requires_python: expected one line of text, got None"),
        ("files", {"../x.py": DIGEST}, "files: expected plain relative paths without '..', got"),
        ("files", {"/etc/x": DIGEST}, "files: expected plain relative paths without '..', got"),
        ("files", {"a.py": 5}, "files: a.py: expected 64 hex digits of a sha256, got 5"),
        ("wheel", {"filename": "a"}, "wheel: expected an object with filename and sha256, got"),
        ("sdist", {"filename": "../a", "sha256": DIGEST}, "sdist.filename: expected a file's name"),
    ],
)
def test_lock_value_of_wrong_type_or_form_is_named(project, site, field, value, words):
    with_lock(project, **{field: value})
    assert f"upstream.lock: {words}" in error_of(project, site)


def test_lock_survives_reading_and_writing(project, tmp_path):
    lock = lockfile.load(project / "upstream.lock")
    lockfile.save(tmp_path / "again.lock", lock)
    assert (tmp_path / "again.lock").read_bytes() == (project / "upstream.lock").read_bytes()


def test_building_the_fork_on_the_fork_is_refused(project):
    """The fork is installed where the tests run, so this is exactly that mistake."""
    with pytest.raises(BuildError, match=r"which is the fork: the fork is built from upstream's"):
        installed_release(lockfile.load(project / "upstream.lock"))


def test_written_tree_is_the_tree(project, site, tmp_path):
    tree = fork_tree(project, site)
    out = tmp_path / "out"
    out.mkdir()
    write_tree(tree, out)
    assert files_of(out) == tree


# Runs in namespaces of its own: a disk of 64 KiB, smaller than any archive of the project.
FULL_DISK = """
mount -t tmpfs -o size=64k none {out}
{python} -c 'from buildsys import backend; backend.build_sdist("{out}")'
ls -A {out}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs namespaces for a small disk")
def test_full_disk_leaves_no_part_of_an_archive(tmp_path):
    script = FULL_DISK.format(out=tmp_path, python=sys.executable)
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "No space left on device" in done.stderr
    assert done.stdout == ""


def test_clone_that_converts_line_ends_has_the_same_patches(tmp_path):
    """Git for Windows sets core.autocrlf; .gitattributes wins over it."""
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "core.autocrlf=true")
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    shutil.copytree(ROOT / "patches", origin / "patches")
    shutil.copy(ROOT / ".gitattributes", origin)
    for command in (
        [*git, "-C", origin, "init", "-q"],
        [*git, "-C", origin, "add", "-A"],
        [*git, "-C", origin, "commit", "-q", "-m", "all"],
        [*git, "clone", "-q", origin, clone],
    ):
        subprocess.run(command, check=True, timeout=60)
    for path in (ROOT / "patches").iterdir():
        assert (clone / "patches" / path.name).read_bytes() == path.read_bytes()

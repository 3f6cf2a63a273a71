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
    version = lockfile.load(project / "upstream.lock").version
    assert f'__version__ = "{version}+fork.1"\n'.encode() in tree["smolagents/__init__.py"]
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


def test_missing_file_is_named(project, site):
    (site / "smolagents" / "cli.py").unlink()
    assert error_of(project, site).startswith("smolagents/cli.py: in the lock, but not in the ins")


def test_file_that_is_not_in_the_lock_is_named(project, site):
    (site / "smolagents" / "extra.py").write_text("")
    assert error_of(project, site) == (
        "smolagents/extra.py: in the installed release, but not in upstream.lock"
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


def test_prune_entry_without_a_file_is_an_error(project, site):
    prune(project, "smolagents/gone.py")
    assert error_of(project, site).startswith("patches/prune.list: 'smolagents/gone.py' is not in")


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


def test_patch_that_is_not_listed_is_named(project, site):
    (project / "patches" / "forgotten.patch").write_text("")
    assert "forgotten.patch in" in error_of(project, site)
    assert "is not listed; list or remove it" in error_of(project, site)


def test_listed_patch_that_is_missing_is_named_with_its_line(project, site):
    series = project / "patches" / "series"
    series.write_text(series.read_text() + "gone.patch\n")
    line = len(series.read_text().splitlines())
    assert f"series:{line}: 'gone.patch' is listed, but" in error_of(project, site)


def test_patch_listed_twice_is_named(project, site):
    series = project / "patches" / "series"
    series.write_text(series.read_text() + "executor-class.patch\n")
    assert "'executor-class.patch' is listed twice; expected once" in error_of(project, site)


@pytest.mark.parametrize("times", [0, 2])
def test_version_text_found_zero_or_two_times_is_an_error(project, site, times):
    path = site / "smolagents" / "__init__.py"
    version = lockfile.load(project / "upstream.lock").version
    line = f'__version__ = "{version}"\n'.encode()
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


def test_version_file_and_lock_must_agree(project, site):
    path = project / "smolagents_fork" / "_version.py"
    path.write_text('upstream_version = "1.0.0"\nfork_revision = 1\n')
    assert "upstream_version is '1.0.0', upstream.lock has" in error_of(project, site)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object with format 2"),
        ('{"format": 1}', "expected an object with format 2"),
        ('{"format": 2}', "fields are missing or unknown"),
    ],
)
def test_damaged_lock_says_what_is_wrong(project, site, text, words):
    (project / "upstream.lock").write_text(text)
    assert words in error_of(project, site)


def test_release_whose_wheel_brings_another_file_is_refused(project, tmp_path):
    """A wheel with an extra ``zz.pth`` runs code in each process of the build environment."""
    version = lockfile.load(project / "upstream.lock").version
    made = tmp_path / f"smolagents-{version}-py3-none-any.whl"
    record = f"smolagents-{version}.dist-info/RECORD"
    with zipfile.ZipFile(fetch_wheel(version, CACHE)) as real, zipfile.ZipFile(made, "w") as copy:
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


def test_release_without_record_is_refused(project, site):
    (next(site.glob("*.dist-info")) / "RECORD").unlink()
    assert "RECORD: cannot be read" in error_of(project, site)


def test_release_built_from_source_distribution_is_refused_with_the_reason(project, site):
    """pip's --no-binary builds a wheel of its own, whose WHEEL file names another generator."""
    wheel = next(site.glob("*.dist-info")) / "WHEEL"
    wheel.write_text(wheel.read_text().replace("Generator:", "Generator: other"))
    assert error_of(project, site).endswith(
        "it must be installed from the release's own wheel: allow wheels (no --no-binary) "
        "for smolagents"
    )


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


def test_deeply_nested_lock_is_refused(project, site):
    (project / "upstream.lock").write_text("[" * 100_000)
    assert "upstream.lock: not JSON: " in error_of(project, site)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fork_revision = True", "got '1.26.0' and True"),
        ("fork_revision = f()", "expected two constants, but reading failed"),
        ("fork_revision =", "expected two constants, but reading failed"),
    ],
)
def test_damaged_version_file_says_what_is_wrong(project, site, text, words):
    path = project / "smolagents_fork" / "_version.py"
    path.write_text(f'upstream_version = "1.26.0"\n{text}\n')
    assert words in error_of(project, site)


def test_series_that_is_not_utf8_is_refused(project, site):
    (project / "patches" / "series").write_bytes(b"\xff\xfe")
    assert "series: not UTF-8" in error_of(project, site)


def test_hunk_of_five_thousand_digits_is_refused(project, site):
    patch = project / "patches" / "executor-class.patch"
    patch.write_bytes(re.sub(rb"@@ -\d+", b"@@ -" + b"1" * 5000, patch.read_bytes(), count=1))
    assert "executor-class.patch:" in error_of(project, site)
    assert ": malformed hunk header b'@@ -111" in error_of(project, site)


def test_converted_line_ends_are_named(project, site):
    patch = project / "patches" / "executor-class.patch"
    patch.write_bytes(patch.read_bytes().replace(b"\n", b"\r\n"))
    assert error_of(project, site).endswith(
        "executor-class.patch:1: has CRLF line ends, which no hunk matches: the clone converted "
        "them. Clone again with `git clone -c core.autocrlf=false`"
    )


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

"""The strict applier compared with git: same bytes if git is exact, refusal if git is lenient."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from buildsys.errors import BuildError
from buildsys.patchfile import FileChange, Hunk, Patch, apply_patch, parse_patch
from tools.git import Git, GitError, environment

NAME = "smolagents/file.py"


# git is a process, several of them for an example.
def with_git(test):
    return pytest.mark.slow(settings(max_examples=25)(test))


# Few different lines, so that a hunk could match at many places. They contain the characters at
# which other tools split lines, and the marks of a patch.
line_texts = st.sampled_from(
    [b"", b"a", b"b", b" a", b"-a", b"+a", b"@@ -1 +1 @@", b"\\ No newline at end of file",
     b"diff --git a/x b/x", b"--- a/x", b"\r", b"a\r", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85",
     b"\xe2\x80\xa8", b"\xff\xfe", b"\t", b"def f():", b"From 0000"]
)  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Draw a file: similar lines, with or without a final newline."""
    lines = draw(st.lists(line_texts, max_size=40))
    data = b"".join(line + b"\n" for line in lines)
    return data[:-1] if data and draw(st.booleans()) else data


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a file and an edited version of it."""
    old = draw(contents())
    if draw(st.integers(0, 4)) == 0:
        return old, draw(contents())
    lines = old.split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = draw(st.lists(line_texts, max_size=3))
    return old, b"\n".join(lines)


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    repository = Git(tmp_path_factory.mktemp("applier") / "repository")
    repository.init("main")
    return repository


def commit(git: Git, data: bytes | None) -> str:
    path = git.folder / NAME
    path.parent.mkdir(exist_ok=True)
    if data is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(data)
    git.run("add", "--all")
    git.run("commit", "--quiet", "--allow-empty", "--message", "one")
    return git.text("rev-parse", "HEAD")


def patch_between(git: Git, old: bytes | None, new: bytes | None, *options: str) -> bytes:
    commit(git, old)
    commit(git, new)
    words = ("--stdout", "--full-index", "--no-signature", "--no-stat", "--no-renames", "--text")
    return git.run("format-patch", *words, *options, "-1", "HEAD").stdout


def applied_by_git(git: Git, old: bytes | None, patch: bytes) -> bytes | None:
    commit(git, old)
    git.run("apply", "--index", "--whitespace=nowarn", "-", stdin=patch)
    path = git.folder / NAME
    return path.read_bytes() if path.exists() else None


def tree_of(data: bytes | None) -> dict[str, bytes]:
    return {} if data is None else {NAME: data}


@with_git
@given(pair=edited(), context=st.integers(0, 4), algorithm=st.sampled_from(["histogram", "myers"]))
@example(pair=(b"a\nb", b"a\nb\n"), context=3, algorithm="histogram")
@example(pair=(b"a\r\nb\r\n", b"a\nb\n"), context=3, algorithm="histogram")
@example(pair=(b"a\n" * 30, b"a\n" * 29), context=1, algorithm="histogram")
@example(pair=(b"", b"\n"), context=3, algorithm="histogram")
def test_same_bytes_as_git_gives(git, pair, context, algorithm):
    old, new = pair
    assume(old != new)
    data = patch_between(git, old, new, f"--unified={context}", f"--diff-algorithm={algorithm}")
    patch = parse_patch("a.patch", data)
    assert apply_patch(patch, tree_of(old)) == tree_of(new)
    if context:  # without context git asks for --unidiff-zero, and guesses
        assert applied_by_git(git, old, data) == new


@with_git
@given(data=contents(), creates=st.booleans())
def test_created_and_deleted_files_are_the_same_as_with_git(git, data, creates):
    old, new = (None, data) if creates else (data, None)
    patch = parse_patch("a.patch", patch_between(git, old, new))
    assert apply_patch(patch, tree_of(old)) == tree_of(new)
    assert applied_by_git(git, old, patch_between(git, old, new)) == new


@with_git
@given(pair=edited(), draw=st.data())
def test_a_change_in_what_a_hunk_expects_is_always_refused(git, pair, draw):
    old, new = pair
    assume(old != new)
    patch = parse_patch("a.patch", patch_between(git, old, new))
    hunks = [hunk for hunk in patch.changes[0].hunks if hunk.old]
    assume(hunks)
    hunk = draw.draw(st.sampled_from(hunks))
    offset = draw.draw(st.integers(0, len(hunk.old) - 1))
    lines = [line + b"\n" for line in old.split(b"\n")]
    index = hunk.old_start - 1 + offset
    lines[index] = b"mutated " + lines[index]
    mutated = b"".join(lines)[:-1]
    with pytest.raises(BuildError, match=rf"does not match at line {index + 1}: expected"):
        apply_patch(patch, tree_of(mutated))


@with_git
@given(length=st.integers(8, 30), draw=st.data(), shift=st.integers(1, 5))
def test_hunk_that_git_would_move_is_refused(git, length, draw, shift):
    """git silently accepts an offset, hence the fork's own applier."""
    at = draw.draw(st.integers(0, length - 1))
    lines = [b"line %d\n" % number for number in range(length)]
    new = b"".join([*lines[:at], b"another\n", *lines[at + 1 :]])
    data = patch_between(git, b"".join(lines), new)
    moved = b"one more\n" * shift + b"".join(lines)
    try:
        assert applied_by_git(git, moved, data) == b"one more\n" * shift + new
    except GitError:
        assert at <= 3  # a hunk that begins at the top of a file is tied to it
    with pytest.raises(BuildError, match="does not match at line"):
        apply_patch(parse_patch("a.patch", data), {NAME: moved})


def test_git_in_a_subfolder_silently_does_nothing(git):
    """git exits with status 0, prints nothing and changes nothing, hence the fork's own applier."""
    data = patch_between(git, b"a\n", b"b\n")
    commit(git, b"a\n")
    subfolder = git.folder / "build" / "smolagents"
    subfolder.mkdir(parents=True, exist_ok=True)
    (subfolder / "file.py").write_bytes(b"a\n")
    done = subprocess.run(
        ["git", "apply", "-"], cwd=subfolder.parent, input=data, env=environment(),
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (subfolder / "file.py").read_bytes() == b"a\n"
    assert apply_patch(parse_patch("a.patch", data), {NAME: b"a\n"}) == {NAME: b"b\n"}


VALID = b"""From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@b>
Subject: s

diff --git a/smolagents/file.py b/smolagents/file.py
index 1111111..2222222 100644
--- a/smolagents/file.py
+++ b/smolagents/file.py
@@ -1,3 +1,4 @@ def f():
 a
-b
+c
+d
 e
"""
VALID_TREE = {NAME: b"a\nb\ne\n"}


damages = st.sampled_from(
    [b"", b"\n", b"-", b"+", b" ", b"\0", b"9", b"/", b"..", b"@@ -1 +1 @@\n",
     b"diff --git a/y b/y\n", b"rename from x\n", b"old mode 100755\n", b"GIT binary patch\n",
     b"\\ No newline at end of file\n"]
)  # fmt: skip


def only_build_error(data: bytes) -> Patch | None:
    try:
        return parse_patch("hostile.patch", data)
    except BuildError as error:
        words = str(error)
    assert words.startswith("hostile.patch")
    return None


@given(data=st.binary(max_size=400))
def test_random_bytes_are_only_ever_a_build_error(data):
    only_build_error(data)
    only_build_error(b"diff --git a/x b/x\n" + data)
    only_build_error(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ " + data)


@given(draw=st.data())
def test_damaged_patches_are_refused_or_change_only_named_files(draw):
    data = bytearray(VALID)
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(data) - 1))
        data[at : at + draw.draw(st.integers(0, 3))] = draw.draw(damages)
        assume(data)
    patch = only_build_error(bytes(data))
    if patch is None:
        return
    for path in patch.paths:
        assert not path.startswith("/")
        assert ".." not in path.split("/")
    tree = {**VALID_TREE, "other": b"kept\n"}
    before = dict(tree)
    try:
        result = apply_patch(patch, tree)
    except BuildError:
        result = tree
    assert tree == before
    untouched = set(tree) - set(patch.paths)
    assert all(result[name] == tree[name] for name in untouched)


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/x", "a/../../x", "./x", "a//x", "C:x", "a\\x", "", ".", "..", "a/.", "x\0y"],
)
def test_paths_out_of_the_tree_are_refused(path):
    raw = path.encode()
    assert only_build_error(VALID.replace(b"smolagents/file.py", raw)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"index 1111111..2222222 100644", b"old mode 100644\nnew mode 100755"),
        (b"index 1111111..2222222 100644", b"new file mode 100755"),
        (b"index 1111111..2222222 100644", b"new file mode 120000"),
        (b"index 1111111..2222222 100644", b"similarity index 90%\nrename from a\nrename to b"),
        (b"index 1111111..2222222 100644", b"copy from a\ncopy to b"),
        (b"index 1111111..2222222 100644", b"index 1..2\nGIT binary patch"),
        (b"index 1111111..2222222 100644", b"dissimilarity index 90%"),
        (b"@@ -1,3 +1,4 @@", b"@@ -1,3 +1,5 @@"),
        (b"@@ -1,3 +1,4 @@", b"@@ -1,2 +1,3 @@"),
        (b"@@ -1,3 +1,4 @@", b"@@ -99999999999999999999,3 +1,4 @@"),
        (b"@@ -1,3 +1,4 @@", b"@@ -0,3 +1,4 @@"),
        (b"+++ b/smolagents/file.py", b"+++ b/smolagents/other.py"),
        (b"--- a/smolagents/file.py\n", b""),
        (b" e\n", b" e\n\nand more\n"),
        (b" e\n", b" e\n@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n"),
    ],
)
def test_known_tricks_are_refused(old, new):
    assert VALID.count(old) == 1
    patch = only_build_error(VALID.replace(old, new))
    if patch is not None:
        with pytest.raises(BuildError, match=r"^hostile\.patch:"):
            apply_patch(patch, VALID_TREE)


@given(
    old=st.lists(line_texts, max_size=6),
    new=st.lists(line_texts, max_size=6),
    start=st.integers(0, 12),
    content=contents(),
)
@example(old=[], new=[b"a"], start=2, content=b"\na")  # after a line that has no end
def test_any_hunk_on_any_content_is_applied_exactly_or_refused(old, new, start, content):
    hunk = Hunk(start, tuple(one + b"\n" for one in old), tuple(one + b"\n" for one in new), 1, 1)
    patch = Patch("any.patch", b"", (FileChange(NAME, "modify", (hunk,), 1),))
    try:
        result = apply_patch(patch, tree_of(content))[NAME]
    except BuildError:
        return
    at = start - 1 if old else start
    lines = [line + b"\n" for line in content.split(b"\n")]
    assert at >= 0
    assert lines[at : at + len(old)] == list(hunk.old)
    lines[at : at + len(old)] = hunk.new
    assert result in {b"".join(lines)[:-1], b"".join(lines)}

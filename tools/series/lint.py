"""Rules for a patch beyond that it applies (docs/patches.md has the reasons)."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.lock import Lock
from buildsys.metadata import uncarried
from buildsys.patchfile import Patch, apply_patch
from buildsys.release import PACKAGE
from buildsys.series import load_prune_list, load_series
from tools.errors import FetchError
from tools.paths import Project
from tools.series.message import PATCH_NAME, Message, parse_message
from tools.series.repository import release_base
from tools.upstream.fetch import fetch_wheel

__all__ = ["ALLOWED_PATHS", "Finding", "lint_series", "missing_test", "module_faults"]

# A hook into our own code needs no other file; remote_executors.py changes by hundreds of lines
# from release to release. A new entry is a decision, to be made here and not in a patch.
ALLOWED_PATHS = frozenset(
    {
        "smolagents/__init__.py",
        "smolagents/agents.py",
        "smolagents/cli.py",
        # Where a tool's signature is shown, and where what it requires would be lost.
        "smolagents/mcp_client.py",
        "smolagents/tools.py",
        # Where values and texts of programs are shown and recorded.
        "smolagents/gradio_ui.py",
        "smolagents/utils.py",
    }
)

# The module a patch may import at the top level: it replaces names after all modules that have them
# were imported, and imports no executor. Its package imports smolagents first, so either order of
# import works (tests/contract/test_public_names.py).
TOP_LEVEL_MODULES = frozenset({"smolagents_fork.executors.agents.upstream_names"})

# Added plus removed lines.
SIZE_AIM = 20
SIZE_LIMIT = 40

# A reason that is shorter than this is none ("needed", "see issue").
REASON_CHARACTERS = 60

# DEP-3: "no", "not-needed", or where it was forwarded to.
_FORWARDED = re.compile(r"(?:no|not-needed)(?: \([^)]+\))?\Z|https://\S+\Z")
_EMPTY_WORDS = re.compile(r"(?:never|unknown|tbd|todo|none|n/?a)?[.!]?\Z", re.IGNORECASE)
_AUTHOR = re.compile(r'"?[^<>@]*[^<>@\s]"? <[^<>@\s]+@[^<>@\s]+>\Z')
_TEST = re.compile(r"(?P<path>tests/(?!.*\.\.)\S+\.py)(?:::\w+)*::(?P<name>test_\w+)(?:\[.*\])?\Z")
_TOP_LEVEL = re.compile(rb"^(?:from|import)\b.*?\b(smolagents_fork[\w.]*)", re.MULTILINE)


class Finding(NamedTuple):
    """Finding of the lint.

    Attributes:
        where: the patch.
        text: what is wrong, and what is wanted.
        is_error: False for a note that stops nothing.
    """

    where: str
    text: str
    is_error: bool = True


def lint_series(
    project: Project, *, with_release: bool = True, cache: Path | None = None
) -> list[Finding]:
    """Lint every patch, and the series as a whole.

    Args:
        with_release: also apply the series, in memory, to the release (fetched when not cached).
        cache: folder of downloaded releases; None for the checkout's own.

    Raises:
        BuildError: the series is not even one: listed twice, unlisted, or not to be parsed.
    """
    patches = load_series(project.patches)
    findings: list[Finding] = []
    for patch in patches:
        message = parse_message(patch.header)
        faults = (*_message_faults(project, patch, message), *_change_faults(patch))
        findings += [Finding(patch.name, text) for text in faults]
        text = (
            f"changes {patch.size} lines; aim at {SIZE_AIM} or fewer: a hook, not the code itself"
        )
        if patch.size > SIZE_LIMIT and not message.trailer("Size-Reason"):
            text = f"{text} (over {SIZE_LIMIT} needs a trailer 'Size-Reason')"
            findings.append(Finding(patch.name, text))
        elif patch.size > SIZE_AIM:
            findings.append(Finding(patch.name, text, is_error=False))
    if with_release:
        findings += _applied_findings(project, patches, cache or project.cache)
    return findings


def _message_faults(project: Project, patch: Patch, message: Message) -> Iterator[str]:
    name = message.trailer("Patch-Name")
    file_name = patch.name.rpartition("/")[2]
    if name is None or not PATCH_NAME.match(name):
        yield "needs one trailer 'Patch-Name: <words-with-hyphens>.patch'"
    elif name != file_name:
        yield f"its Patch-Name is {name!r}, its file {file_name!r}; export it"
    forwarded = message.trailer("Forwarded")
    if forwarded is None or not _FORWARDED.match(forwarded):
        yield (
            f"needs one trailer 'Forwarded' with 'no', 'not-needed' (DEP-3; a reason may follow "
            f"in round brackets) or the https address it was forwarded to, has {forwarded!r}"
        )
    retire = message.trailer("Retire-When")
    if retire is None or _EMPTY_WORDS.match(retire):
        yield f"needs one trailer 'Retire-When' that says what would make it needless: {retire!r}"
    if len(message.body) < REASON_CHARACTERS:
        yield (
            f"gives no reason: its message has {len(message.body)} characters between subject "
            f"and trailers; say why it exists in {REASON_CHARACTERS} or more"
        )
    if not message.subject.strip():
        yield "has no subject"
    if not _AUTHOR.match(message.author):
        yield f"has no author of the form 'Name <address>': {message.author!r}"
    if not message.date:
        yield "has no date"
    tests = message.trailers.get("Test", ())
    if not tests:
        yield "needs a trailer 'Test' that names a test that fails without it"
    faults = (missing_test(project.root, test) for test in tests)
    yield from (f"Test: {fault}" for fault in faults if fault)


def missing_test(root: Path, test: str) -> str | None:
    """Say what is wrong with a pytest id, or None when it names a test that exists.

    Args:
        root: the checkout's top folder, which the id's path is relative to.
        test: such as ``tests/unit/test_a.py::test_b`` or ``...::TestGroup::test_b[case]``.
    """
    match = _TEST.match(test)
    if match is None:
        return f"{test!r} is not a test id; expected tests/<path>.py::test_<name>"
    path, name = match["path"], match["name"]
    if not (root / path).is_file():
        return f"{test!r}: {path} does not exist"
    if not re.search(rf"^\s*(?:async )?def {name}\(", (root / path).read_text("utf-8"), re.M):
        return f"{test!r}: {path} defines no {name!r}"
    return None


def _change_faults(patch: Patch) -> Iterator[str]:
    for change in patch.changes:
        if change.path not in ALLOWED_PATHS:
            yield f"changes {change.path}; a patch may change {', '.join(sorted(ALLOWED_PATHS))}"
        if change.kind != "modify":
            yield f"{change.kind}s {change.path}; code of the fork's own belongs in smolagents_fork"


def _applied_findings(project: Project, patches: list[Patch], cache: Path) -> Iterator[Finding]:
    """Apply the series for real and look at what the files have become."""
    where = "upstream"
    try:
        lock = lockfile.load(project.lock)
        yield from _metadata_findings(lock, cache)
        tree = release_base(lock, load_prune_list(project.patches), cache)
        for patch in patches:
            where = patch.name
            tree = apply_patch(patch, tree)
            for path in patch.paths:
                if path in tree and path.endswith(".py"):
                    yield from (Finding(where, text) for text in module_faults(path, tree[path]))
    except (BuildError, FetchError) as error:
        yield Finding(where, str(error))


def _metadata_findings(lock: Lock, cache: Path) -> Iterator[Finding]:
    """Name what upstream's metadata has and the fork's wheel would not."""
    with zipfile.ZipFile(fetch_wheel(lock.version, cache)) as wheel:
        text = wheel.read(f"{PACKAGE}-{lock.version}.dist-info/METADATA").decode("utf-8")
    for name in uncarried(text, lock.files):
        yield Finding(
            "upstream.lock",
            f"the release's metadata has {name}, which the fork's wheel does not carry: carry it "
            "in buildsys/metadata.py, or list it there as the fork's own",
        )


def module_faults(path: str, source: bytes) -> Iterator[str]:
    """List what is wrong with a patched module: its syntax, or an import at its top level."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        yield f"{path}:{error.lineno}: does not parse any more: {error.msg}"
    for name in _TOP_LEVEL.findall(source):
        if name.decode() not in TOP_LEVEL_MODULES:
            yield (
                f"imports {name.decode()} at the top level of {path}; smolagents/__init__.py "
                f"imports everything, so that makes a cycle: import it inside the function"
            )

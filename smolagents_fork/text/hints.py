"""Hints for errors of programs: the nearest name, the indexed value, the correct spelling.

Hints come from the syntax tree and from values. Reading a value runs no code of the program. A hint
suggests a change and never makes it.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import itertools
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from types import FrameType, ModuleType, TracebackType
from typing import Any

from ..output import truncate
from ..standard_library import is_standard
from .short_texts import brief_text

__all__ = [
    "PROXY_FAILURE",
    "advice",
    "hint",
    "import_advice",
    "installed_import_advice",
    "network_hint",
    "positions",
]

#: Begins the message of a network proxy that could not reach a listed host.
PROXY_FAILURE = "network proxy: "
#: Limits of the comparison: characters of a name, and number of names.
_LONGEST_NAME, _MOST_NAMES = 100, 2000
#: Characters of a message that advice is looked for in, first and last: the work of some patterns
#: grows with the square.
_LONGEST_SEARCHED = 10_000
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
#: Reads the namespace of a class, which a metaclass cannot falsify.
_NAMESPACE = type.__dict__["__dict__"].__get__


# -- location of the failure --


def positions(entry: TracebackType) -> tuple[int | None, int | None, int | None, int | None]:
    """Return first line, last line, first and last column of the failure; ``None`` if unknown."""
    code = entry.tb_frame.f_code
    if not hasattr(code, "co_positions"):  # Python 3.10 knows the line only
        return (entry.tb_lineno, None, None, None)
    places = itertools.islice(code.co_positions(), entry.tb_lasti // 2, None)
    return next(places, (entry.tb_lineno, None, None, None))


def _nodes_at(tree: ast.Module, entry: TracebackType) -> Iterator[ast.AST]:
    """Find the program's nodes at the position of the failure, the exact one first."""
    line, end_line, column, end_column = positions(entry)
    later = []
    for node in ast.walk(tree):
        if getattr(node, "lineno", None) != line:
            continue
        place = (
            getattr(node, "end_lineno", None),
            getattr(node, "col_offset", None),
            getattr(node, "end_col_offset", None),
        )
        if place == (end_line, column, end_column):
            yield node
        else:
            later.append(node)
    yield from later


def _value_of(node: ast.AST, frame: FrameType) -> tuple[bool, Any]:
    """Find the value of a name, a constant, or an item of either, without running code."""
    if isinstance(node, ast.Constant):
        return True, node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return True, names[node.id]
    if isinstance(node, ast.Subscript):
        has_value, value = _value_of(node.value, frame)
        has_key, key = _value_of(node.slice, frame)
        if has_value and has_key and type(value) in (dict, list, tuple) and type(key) in _PLAIN:
            try:
                return True, value[key]
            except (LookupError, TypeError):
                return False, None
    return False, None


# -- the hints --


def _close_matches(name: str, names: Iterable[Any]) -> list[str]:
    """Find the nearest of ``names`` in bounded time."""
    if len(name) > _LONGEST_NAME:
        return []
    short = (n for n in names if type(n) is str and len(n) <= _LONGEST_NAME and n != name)
    return difflib.get_close_matches(name, sorted(itertools.islice(short, _MOST_NAMES)), n=3)


def _similar(name: str, names: Iterable[Any], hidden: Container[str] = ()) -> str:
    private = name[:1] == "_"
    plain = [n for n in names if type(n) is str and n[:1] != "@" and n not in hidden]
    shown = [n for n in plain if private or n[:1] != "_"]
    close = _close_matches(name, shown)
    return f"Did you mean: {', '.join(map(repr, close))}?" if close else ""


def _name_hint(
    error: NameError, tree: ast.Module, entry: TracebackType, hidden: Container[str]
) -> str:
    name = getattr(error, "name", None) or _quote_names(str(error))
    if not name:
        return ""
    if isinstance(error, UnboundLocalError):
        return (
            f"The function assigns to `{name}`, which makes it a local variable: give it a value "
            f"first, or use the one outside by `global {name}` (`nonlocal {name}` in a nested "
            "function)"
        )
    nodes = list(_nodes_at(tree, entry))
    frame = entry.tb_frame
    if any(isinstance(n, ast.Delete) for n in nodes):
        return f"Cannot delete name '{name}': name is not defined"
    called = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
        for n in nodes
    )
    if called:
        message = (
            f"Forbidden function evaluation: '{name}' is not among the explicitly allowed tools "
            "or defined/imported in the preceding code"
        )
    else:
        message = f"The variable `{name}` is not defined"
    names = {*frame.f_locals, *frame.f_globals, *frame.f_builtins, *dir(builtins)}
    # What Python sets in a module is not a variable of the program.
    close = _similar(name, [n for n in names if n[:2] != "__"], hidden)
    absent = f"Did you forget to import {name!r}?" if is_standard(name) else ""
    return ". ".join(filter(None, (message, " ".join(filter(None, (absent, close))))))


def _quote_names(text: str) -> str:
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else ""


def _attribute_hint(error: AttributeError) -> str:
    name, value = getattr(error, "name", None), getattr(error, "obj", None)
    if type(name) is not str or value is None:
        return ""
    if type(value) is dict and name in value:
        return f"Use brackets to read a key of a dict: [{name!r}]"
    if isinstance(value, ModuleType):
        return _member_hint(name, value)
    names: set[Any] = set()
    for cls in (*type.mro(type(value)), *(type.mro(value) if isinstance(value, type) else ())):
        names.update(_NAMESPACE(cls))
    with contextlib.suppress(AttributeError):  # it has slots
        names.update(object.__getattribute__(value, "__dict__"))
    return _similar(name, names)


def _member_hint(name: str, module: ModuleType) -> str:
    # The class of a view of a module has its variables.
    own = {**_NAMESPACE(type(module)), **vars(module)}
    return _similar(name, [n for n in own if not isinstance(own[n], ModuleType)])


def _import_hint(error: ImportError) -> str:
    module: object = sys.modules.get(error.name or "")
    if not isinstance(module, ModuleType):
        return ""
    return _member_hint(_quote_names(str(error)), module)


def _index_hint(error: BaseException, tree: ast.Module, entry: TracebackType) -> str:
    place = positions(entry)[2:]
    for node in _nodes_at(tree, entry):
        exact = place == (getattr(node, "col_offset", None), getattr(node, "end_col_offset", None))
        if not isinstance(node, ast.Subscript):
            continue
        if place[0] is not None and not exact:
            return ""  # another subscript failed
        has_value, value = _value_of(node.value, entry.tb_frame)
        has_key, key = _value_of(node.slice, entry.tb_frame)
        if not has_key and isinstance(error, KeyError) and error.args:
            key, has_key = error.args[0], True
        if not (has_value and has_key):
            continue
        if isinstance(value, str) and isinstance(key, str):
            return "You're trying to subscript a string with a string index, which is impossible"
        message = f"Could not index {brief_text(value)} with {brief_text(key)}"
        if type(value) is dict and isinstance(key, str):
            close = _close_matches(key, value)
            if close:
                message += f". Maybe you meant one of these indexes instead: {close}"
        return message
    return ""


def _type_hint(error: TypeError, tree: ast.Module, entry: TracebackType) -> str:
    text = str(error)
    if "argument after ** must be a mapping" in text:
        return f"Cannot unpack non-dict value in **kwargs: {text.rsplit('not ', 1)[-1]}"
    if "object is not callable" in text:
        return _hidden_builtin_hint(tree, entry)
    if "object is not iterable" in text:
        for node in _nodes_at(tree, entry):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                has_left, left = _value_of(node.target, entry.tb_frame)
                has_right, right = _value_of(node.value, entry.tb_frame)
                if has_left and has_right and type(left) is list:
                    return f"Cannot add non-list value {brief_text(right)} to a list."
    if "not subscriptable" in text or "indices must be" in text:
        return _index_hint(error, tree, entry)
    return ""


def _hidden_builtin_hint(tree: ast.Module, entry: TracebackType) -> str:
    place = positions(entry)[2:]
    for node in _nodes_at(tree, entry):
        if (
            isinstance(node, ast.Call)
            and (node.col_offset, node.end_col_offset) == place  # others are on the same line
            and isinstance(node.func, ast.Name)
            and callable(getattr(builtins, node.func.id, None))
        ):
            name = node.func.id
            return (
                f"The program has given `{name}` another value: use another name for that, and "
                f"`del {name}`"
            )
    return ""


def hint(
    error: BaseException,
    tree: ast.Module,
    entry: TracebackType,
    inside: bool,
    hidden: Container[str] = (),
) -> str:
    """Return a hint for ``error``, or the empty string.

    Args:
        error: the exception that ended the program.
        tree: the program of the innermost frame.
        entry: the traceback entry of that frame.
        inside: whether that frame itself raised the error.
        hidden: names that must not be suggested.
    """
    if isinstance(error, NameError) and type(error) in (NameError, UnboundLocalError):
        return _name_hint(error, tree, entry, hidden)
    if type(error) is AttributeError:
        if "'coroutine' object" in str(error):
            return _AWAIT
        return _attribute_hint(error)
    if not inside:
        return ""
    if type(error) is ImportError:
        return _import_hint(error)
    if type(error) in (KeyError, IndexError):
        return _index_hint(error, tree, entry)
    if type(error) is TypeError:
        if "'coroutine'" in str(error):
            return _AWAIT
        return _type_hint(error, tree, entry)
    if type(error) is ValueError and "values to unpack" in str(error):
        return "Cannot unpack tuple of wrong size"
    return ""


def import_advice(name: str) -> str:
    """Return advice about a module that the executor takes from the host's environment.

    Args:
        name: Name of the module or the package.
    """
    return _authorise(name, "install it beside smolagents and pass", "")


def installed_import_advice(name: str) -> str:
    """Return advice about a module that the executor would install.

    Args:
        name: Name of the module or the package.
    """
    return _authorise(name, "pass", ", which installs it")


def _standard_advice(name: str) -> str:
    """Return advice about a module of the standard library, which no package index has."""
    if "." in name:
        return ""  # misspelt
    return (
        f"{name!r} belongs to the standard library of another version, or of another system: the "
        "Python that runs this code does not have it"
    )


def _authorise(name: str, action: str, effect: str) -> str:
    if "." in name:
        return ""  # misspelt, or never there
    return (
        f"{name!r} is not installed: the agent's author can {action} "
        f"additional_authorized_imports=[{name!r}]{effect}"
    )


def advice(
    message: str,
    network_remedy: str = "",
    *,
    of_module: Callable[[str], str] = import_advice,
    own_loopback: bool = False,
    proxied: bool = False,
    confined: bool = False,
) -> str:
    """Return lines for an error of code that its surroundings explain, or the empty string.

    Args:
        message: Message of the error, with its type.
        network_remedy: how a sandbox gets a network; empty if this one has it.
        of_module: returns advice about an absent module or package.
        own_loopback: whether ``127.0.0.1`` is the sandbox's own.
        proxied: whether the kernel refuses connections beside a proxy as it refuses files.
        confined: whether system calls are refused, whatever they are for.
    """
    message = truncate(message, _LONGEST_SEARCHED)
    network = network_hint(message, network_remedy, own_loopback=own_loopback, proxied=proxied)
    lines = [text for pattern, text in _ADVICE if pattern.search(message)]
    is_refused = _NOT_PERMITTED.search(message) or _DENIED.search(message)
    if _NO_PROCESSES in lines or (confined and is_refused):
        # Not that a private module is missing, or what a path would have to be.
        return f"\n{_NO_PROCESSES}{network}"
    missing = _MISSING.findall(message) if _OF_IMPORTS.search(message) else []
    lines += [_standard_advice(name) for name in missing[:1] if is_standard(name)]
    command = _COMMAND.search(message)
    if command is not None:
        lines.append(_NO_COMMANDS)
        missing += _PACKAGE.findall(command[1] or "")
    lines += [of_module(name) for name in missing[:1] if not is_standard(name)]
    return "".join(f"\n{line}" for line in lines if line) + network


def network_hint(
    message: str, remedy: str, *, own_loopback: bool = False, proxied: bool = False
) -> str:
    """Return a line for an error of code that looked for a network, or the empty string.

    Args:
        message: Message of the error.
        remedy: how a sandbox gets a network; empty if this one has it.
        own_loopback: whether ``127.0.0.1`` is the sandbox's own.
        proxied: whether the kernel refuses connections beside a proxy as it refuses files.
    """
    if PROXY_FAILURE in message:
        return ""
    # Without a network nothing else can refuse.
    is_loopback = bool(remedy) or _LOOPBACK.search(message) is not None
    if own_loopback and is_loopback and _REFUSED.search(message):
        return (
            "\nThe sandbox's 127.0.0.1 and localhost are its own, and not the host's: give the "
            "agent a tool, which runs outside"
        )
    is_refused = _UNREACHABLE.search(message) or (proxied and _DENIED.search(message))
    if not remedy or not is_refused:
        return ""
    return f"\nThis sandbox has no network: {remedy}, or give the agent a tool, which runs outside"


# Messages of C libraries, in which HTTP clients quote them, of Pyodide and of urllib3 on it.
_UNREACHABLE = re.compile(
    r"name resolution|Name or service not known|No address associated with hostname"
    r"|Network is unreachable|WebAssembly has no sockets|urllib3 only works in Node\.js"
    r"|\[Errno (?:13|101)\] Connect call failed"  # asyncio's words
    # Where packets are dropped, as a cluster's network policy does.
    r"|Connection timed out|[Cc]onnect ?timeout|TimeoutError: timed out|<urlopen error timed out>"
)
# Refusals of a system call: of a filter, or of WebAssembly.
_NOT_PERMITTED = re.compile(r"\[Errno \d+\] (?:Operation not permitted|Function not implemented)")
# Landlock's refusal of an address, or of a semaphore, which names no file.
_DENIED = re.compile(r"\[(?:Errno 13\] )?Permission denied(?!: )")
# The second for ::1, which is tried after 127.0.0.1 and which a sandbox without IPv6 does not have.
_REFUSED = re.compile(r"Connection refused|Cannot assign requested address")
_LOOPBACK = re.compile(r"127\.0\.0\.1|localhost|::1|Cannot assign requested address")
_NO_PROCESSES = (
    "The sandbox starts no processes and permits few system calls: use a library, or give the "
    "agent a tool, which runs outside"
)
# Words of an error -> advice.
_ADVICE = (
    (
        # An absolute path, of Windows too, at the end of an error about files.
        re.compile(
            r"(?:FileNotFound|Permission|OS)Error: [^\n]*'(?:[/~]|[A-Za-z]:[\\/])[^'\n]*'"
            r"|OperationalError: unable to open database file"
        ),
        "The code's files are in its working folder: use relative paths, such as 'data.csv'",
    ),
    (
        re.compile(
            r"WebAssembly has no processes|emscripten does not support processes"
            r"|lacks multiprocessing\.synchronize|No module named '_multiprocessing'"
        ),
        _NO_PROCESSES,
    ),
    (
        re.compile(r"\b(?:EOFError|BdbQuit): ?$", re.MULTILINE),
        "Nobody answers a program here: take a value as a variable or through a tool, and look at "
        "values by print()",
    ),
    (
        re.compile(r"RuntimeError: can't start new thread$", re.MULTILINE),
        "Threads are limited by max_threads= in a process and pids_limit= in a container, and "
        "WebAssembly has none: use a loop, or asyncio",
    ),
    (
        re.compile(r"MemoryError(?::|$)", re.MULTILINE),
        "Memory is limited by memory= of a sandbox: work in smaller pieces, or raise it",
    ),
    (
        re.compile(
            r"Error: [^\n]*\b(?:File too large|No space left on device|database or disk is full)"
        ),
        "Files are limited by file_size= in a process, and by workdir_size= and tmp_size= in a "
        "container: write less, or raise that",
    ),
)
# A line of a notebook or a shell where Python's parser has failed, and what pip is to install.
_COMMAND = re.compile(r"SyntaxError[^\n]*\n\s*(?:[!%]|pip3? )(?:[^\n]*?\binstall ([^\n]*))?")
_PACKAGE = re.compile(r"(?:^|\s)([A-Za-z][\w.-]*)")
_NO_COMMANDS = "Commands of notebooks and shells are not Python, and are not run here"
# Errors of imports, also by libraries that look for an optional one, and of values that need one;
# and how they name it: Python, and pandas, which gives no cause.
_OF_IMPORTS = re.compile(r"(?:ImportError|ModuleNotFoundError|AttributeError|DecodeError): ")
_MISSING = re.compile(
    r"(?:No module named '|`Import |Missing optional dependency '|accessor requires )"
    r"([\w.]{1,100})(?![\w.])"
)
_AWAIT = "Use `await` to get the value of a coroutine: write `await f(...)`"

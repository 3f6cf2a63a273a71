"""Files and addresses in the arguments of numpy's and pandas' functions.

Part of the boundary that guards.py decides by. ``open`` is refused to programs, so these libraries
open nothing for them either: buffers (``io.StringIO``, ``io.BytesIO``) are what they read and
write. ``data_files=True`` lets them use files below the working directory; addresses never, since
a program that can fetch one can send what it has read, and reach what the host's network reaches.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from typing import Any

from ..errors import ProgramRefusedError
from .policy_data import PATH_PARAMETERS

__all__ = ["allowed_path", "checked"]

#: ``scheme:`` of two letters and more (RFC 3986, section 3.1); one letter is a drive.
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]+:")
#: Functions that take the data itself as text, up to pandas 2.
_TAKE_TEXT = {"read_json": ("{", "["), "read_html": ("<",), "read_xml": ("<",)}
_INSTEAD = (
    "Take the data as a variable, through a tool or from io.StringIO or io.BytesIO, and write to "
    "such a buffer"
)


def allowed_path(path: Any, files: bool) -> Any:
    """``path`` as it may be passed on: an object that is no path as it is.

    Args:
        path: what a program gave where a path can be.
        files: whether files below the working directory are allowed.

    Raises:
        ProgramRefusedError: a path or an address that is not.
    """
    if type(path) in (list, tuple):
        return type(path)(allowed_path(one, files) for one in path)
    if isinstance(path, bytes):
        path = os.fsdecode(bytes(path))
    if not isinstance(path, (str, os.PathLike)):
        return path
    # Asked once: an object may answer otherwise the next time.
    given = os.fspath(path)
    text = str.__str__(given) if isinstance(given, str) else os.fsdecode(bytes(given))
    if _ADDRESS.match(text) or "://" in text:
        raise ProgramRefusedError(
            f"Forbidden access to address {text!r}: numpy and pandas fetch and send nothing here. "
            f"{_INSTEAD}"
        )
    if not files:
        raise ProgramRefusedError(
            f"Forbidden access to file {text!r}: numpy and pandas open no files here, as open() "
            f"does not. {_INSTEAD}. To allow files below the working directory, the agent's author "
            "can pass data_files=True to the executor"
        )
    home = os.path.realpath(os.getcwd())
    real = os.path.realpath(text)
    inside = real == home or real.startswith(home.rstrip(os.sep) + os.sep)
    if not inside or text.startswith("~"):
        raise ProgramRefusedError(
            f"Forbidden access to file {text!r}: only files below the working directory {home!r} "
            "may be used. Put the file there, or take the data as a variable or through a tool"
        )
    return text


def checked(function: Callable[..., Any], files: bool, name: str = "") -> Callable[..., Any]:
    """``function``, its arguments checked wherever a path can be among them."""
    name = name or str(getattr(function, "__name__", ""))
    try:
        parameters = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except (ValueError, TypeError):
        parameters = []  # a function of C: the path comes first
    places = {n for n, parameter in enumerate(parameters) if parameter in PATH_PARAMETERS} | {0}

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        given = list(arguments)
        if name in ("read_xml", "to_xml"):
            _check_xml(keywords)
        for place in places:
            if place < len(given) and not _is_the_data(name, given[place]):
                given[place] = allowed_path(given[place], files)
        for keyword in PATH_PARAMETERS.intersection(keywords):
            if not _is_the_data(name, keywords[keyword]):
                keywords[keyword] = allowed_path(keywords[keyword], files)
        return function(*given, **keywords)

    del call.__wrapped__  # would hand out the unchecked one
    return call


def _check_xml(keywords: dict[str, Any]) -> None:
    """Leave out lxml: its stylesheets read and write files, its documents name files to include."""
    if keywords.get("stylesheet") is not None:
        raise ProgramRefusedError(
            "Forbidden argument: a stylesheet can read and write files by itself"
        )
    if keywords.setdefault("parser", "etree") != "etree":
        raise ProgramRefusedError(
            f"Forbidden argument parser={keywords['parser']!r}: lxml opens the files a document "
            "names. Use parser='etree'"
        )


def _is_the_data(name: str, value: Any) -> bool:
    """Whether text is what a function reads, and no path: it begins as no file of ours can."""
    if name in ("loadtxt", "genfromtxt"):
        return isinstance(value, (list, tuple))  # lines
    starts = _TAKE_TEXT.get(name)
    if starts is None or type(value) is not str or not _old_pandas():
        return False
    return value.lstrip().startswith(starts)


@functools.cache
def _old_pandas() -> bool:
    from importlib.metadata import version

    return int(version("pandas").split(".")[0]) < 3

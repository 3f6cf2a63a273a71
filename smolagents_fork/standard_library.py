"""Modules of Python's standard library, in each version that a program may run on.

A sandbox may have another Python than the host. The names of all versions are kept from pip: on an
index, anyone may register those that the host's own Python does not know.
"""

from __future__ import annotations

import sys

__all__ = ["STANDARD_MODULES", "absence", "is_standard"]

# Minor version of Python 3 -> modules that it adds, and modules that it removes, compared with the
# version before: sys.stdlib_module_names of each.
_ADDED = {
    11: "_tokenize _typing tomllib",
    12: "_pydatetime _pylong _sha2",
    13: "_android_support _colorize _interpchannels _interpqueues _interpreters _ios_support "
    "_opcode_metadata _pyrepl _suggestions _sysconfig _wmi",
    14: "_apple_support _ast_unparse _hmac _py_warnings _remote_debugging _types _zstd "
    "annotationlib compression",
    15: "_math_integer profiling",
}
_REMOVED = {
    11: "binhex",
    12: "_bootsubprocess _sha256 _sha512 asynchat asyncore distutils imp smtpd",
    13: "_crypt _msi aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib "
    "ossaudiodev pipes sndhdr spwd sunau telnetlib uu xdrlib",
    14: "_compression",
    15: "sre_compile sre_constants sre_parse",
}
_FIRST = {name: minor for minor, names in _ADDED.items() for name in names.split()}
_WITHOUT = {name: minor for minor, names in _REMOVED.items() for name in names.split()}
#: Those of all versions, and Python's own tests, which sys.stdlib_module_names leaves out.
STANDARD_MODULES = frozenset({*getattr(sys, "stdlib_module_names", ()), *_FIRST, *_WITHOUT, "test"})


def is_standard(name: str) -> bool:
    """Tell whether a module belongs to the standard library of any version.

    Args:
        name: import name.

    Example:
        >>> is_standard("os.path"), is_standard("annotationlib"), is_standard("numpy")
        (True, True, False)
    """
    return name.split(".", 1)[0] in STANDARD_MODULES


def absence(name: str, minor: int) -> str:
    """Say why a version lacks a module of the standard library; empty if it is not known to.

    Args:
        name: import name.
        minor: version of Python 3.

    Example:
        >>> absence("cgi", 14)
        'Python 3.13 removed it'
    """
    top = name.split(".", 1)[0]
    if minor < _FIRST.get(top, 0):
        return f"it came with Python 3.{_FIRST[top]}"
    if minor >= _WITHOUT.get(top, minor + 1):
        return f"Python 3.{_WITHOUT[top]} removed it"
    return ""

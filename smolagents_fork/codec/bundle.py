"""The codec as one text, for a kernel or a child that does not have this package.

The modules are joined in the order of their imports, and the imports between them are removed. This
avoids a second copy of the implementation. Imports of the standard library stay. numpy, pandas,
polars and Pillow are used if the sandbox has them.
"""

from __future__ import annotations

import ast
import functools
from importlib import resources

# In import order: a module follows those that it imports.
_MODULES = (
    "limits",
    "attachments",
    "encoder",
    "decoder",
    "types/standard_values",
    "types/record_values",
    "types/arrays",
    "types/image_values",
    "types/pandas_values",
    "types/polars_values",
    "namespace",
    "rpc",
)

_PREAMBLE = '''"""Typed values to and from JSON-safe bytes (made from smolagents_fork.codec)."""
from __future__ import annotations

class ForkError(Exception): pass
class CodecError(ForkError, ValueError): pass
class EncodeError(CodecError): pass
class DecodeError(CodecError): pass
'''


@functools.lru_cache(maxsize=1)
def sandbox_source() -> str:
    """Return the source of a module with ``encode``, ``decode``, ``EncodeError``, ``DecodeError``.

    It needs only Python 3.10 or later and the standard library. It behaves like this package.
    """
    parts = [_PREAMBLE]
    folder = resources.files("smolagents_fork.codec")
    for name in _MODULES:
        parts.append(_without_own_imports((folder / f"{name}.py").read_text("utf-8")))
    return "\n\n".join(parts)


def _without_own_imports(source: str) -> str:
    # Lines are removed, not unparsed: the output of ast.unparse in a newer Python may be invalid in
    # an older one.
    lines = source.splitlines()
    for node in ast.parse(source).body:
        own = isinstance(node, ast.ImportFrom) and (
            node.module == "__future__" or (node.module or "").startswith("smolagents_fork")
        )
        if own or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line for line in lines if line.strip())

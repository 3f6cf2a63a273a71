"""Code that reads a program's variables in a hosted kernel, and what it displays."""

from __future__ import annotations

import base64
import binascii

from ...codec import DEFAULT_MAX_BYTES, Variables, decode_variables, sandbox_source
from ...errors import DecodeError
from .cells import Cell

__all__ = ["reading_code", "variables_of"]

# The names begin with an underscore, so that no call returns them.
_CODE = """
def _smolagents_fork_read(source):
    import base64, sys, types
    from IPython import get_ipython
    from IPython.display import display
    codec = types.ModuleType("smolagents_fork_codec")
    sys.modules[codec.__name__] = codec
    exec(compile(source, "<smolagents_fork codec>", "exec"), codec.__dict__)
    shell, absent = get_ipython(), object()
    hidden = shell.user_ns_hidden
    found = {{n: v for n, v in shell.user_ns.items() if hidden.get(n, absent) is not v}}
    data = codec.encode_variables(found, {limit})
    display({{"text/plain": base64.b64encode(data).decode("ascii")}}, raw=True)
_smolagents_fork_read({source!r})
"""


def reading_code() -> str:
    """Return the code of a cell that displays the variables."""
    return _CODE.format(limit=DEFAULT_MAX_BYTES, source=sandbox_source())


def variables_of(cell: Cell) -> Variables:
    """Return the variables that a cell has displayed.

    Raises:
        DecodeError: it has displayed something else.
    """
    displays = cell.shown.displays
    try:
        data = base64.b64decode(str(displays[-1].value) if displays else "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"variables: not base64: {error}") from None
    return decode_variables(data, DEFAULT_MAX_BYTES)

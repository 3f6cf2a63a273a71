"""Runs a program's file as ``python`` would: as ``__main__``, with the working folder on the path.

From a file, because smolagents reads the source of tools that a program defines.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import ModuleType

from smolagents_fork.agent_sandbox import ADDRESS_VARIABLE, host_model

__all__ = ["main"]


def main(path: str) -> None:
    """Run the program; where the host serves a model, the name ``model`` has it."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = path
    sys.argv = [path]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    try:
        if ADDRESS_VARIABLE in os.environ:
            vars(module)["model"] = host_model()
        exec(compile(source, path, "exec"), vars(module))
    except Exception as error:
        # From the program's own frame on.
        tail = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, tail)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])

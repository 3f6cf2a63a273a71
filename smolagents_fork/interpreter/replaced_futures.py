"""Members of concurrent.futures: pools of threads of the program, and none of processes.

Part of the boundary that guards.py decides by. Python's own code, over replaced_threads.py.
"""

from __future__ import annotations

import queue
import types
import weakref
from collections.abc import Callable
from typing import Any

from .copies import copied
from .ownership import GUARDS_ITS_BASES
from .replaced import REFUSED, members

__all__ = ["MAKERS"]


class _Log:
    """What concurrent.futures logs: a program's errors, to the program's own stderr."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules

    def critical(self, message: str, *arguments: Any, **_how: Any) -> None:
        if not self._modules.meter.over():
            self._modules.stderr.write((message % arguments if arguments else message) + "\n")
            members("traceback", self._modules)["print_exc"]()

    exception = critical


def _own_names(module: types.ModuleType) -> list[str]:
    """What a module itself defines, but for errors and records, which are everybody's."""
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and not (isinstance(value, type) and issubclass(value, (BaseException, tuple)))
    ]


def _futures(modules: Any) -> dict[str, Any]:
    """concurrent.futures, with a pool of the program's threads and none of processes."""
    import concurrent.futures.thread as real
    from concurrent.futures import _base

    kept = modules.replaced.get("@futures")
    if kept is not None:
        return dict(kept)
    threads = types.SimpleNamespace(**members("threading", modules))
    queues = types.SimpleNamespace(Empty=queue.Empty, **members("queue", modules))
    base = copied(_base, _own_names(_base), {"threading": threads, "LOGGER": _Log(modules)})
    instead = {
        "threading": threads,
        "queue": queues,
        "_base": types.SimpleNamespace(**base),
        "Executor": base["Executor"],
        "_threads_queues": weakref.WeakKeyDictionary(),
        "_shutdown": False,
        "_global_shutdown_lock": threads.Lock(),
    }
    Pool = copied(real, _own_names(real), instead)["ThreadPoolExecutor"]

    class ThreadPoolExecutor(Pool):  # type: ignore[misc,valid-type]
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            modules.threads.pools.add(self)

    ThreadPoolExecutor.__module__ = real.__name__
    ThreadPoolExecutor.__qualname__ = "ThreadPoolExecutor"
    setattr(ThreadPoolExecutor, GUARDS_ITS_BASES, True)
    made = {
        "ThreadPoolExecutor": ThreadPoolExecutor,
        "ProcessPoolExecutor": REFUSED,
        "InterpreterPoolExecutor": REFUSED,
        **{name: base[name] for name in ("Executor", "Future", "wait", "as_completed")},
    }
    modules.replaced["@futures"] = made
    return dict(made)


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "concurrent.futures": _futures,
    "concurrent.futures.thread": _futures,
    "concurrent.futures._base": _futures,
    "concurrent.futures.process": _futures,
}

"""Members of numpy, pandas and io that run code, load pickles, read memory or reach files.

Part of the boundary that guards.py decides by; see also data_files, data_memory, data_methods.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ProgramRefusedError
from . import data_files, data_memory, data_methods
from .build import words
from .policy_data import MEMORY_PROTOCOLS
from .replaced import REFUSED

__all__ = ["MAKERS", "when_called"]


class _Archive(Mapping[str, Any]):
    """The arrays of a ``.npz`` file, read; numpy's own object holds the zip file and a switch."""

    def __init__(self, real: Any) -> None:
        self.files = list(real.files)
        with real:
            self._arrays = {name: real[name] for name in self.files}

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""


def _without_pickles(save: Callable[..., Any], files: bool) -> Callable[..., Any]:
    """``np.save`` and ``np.savez``: arrays of objects would be pickled, private parts included."""
    guarded = data_memory.undispatched(data_files.checked(save, files))

    @functools.wraps(save)
    def call(file: Any, *arrays: Any, **keywords: Any) -> Any:
        import numpy as np

        keywords.pop("allow_pickle", None)
        if save is np.save and len(arrays) > 1:
            arrays = arrays[:1]
        named = {n: v for n, v in keywords.items() if n not in ("fix_imports",)}
        for one in (*arrays, *named.values()):
            if np.asanyarray(one).dtype.hasobject:
                raise ProgramRefusedError("Forbidden: saving an array of objects, which pickles it")
        return guarded(file, *arrays, **keywords)

    del call.__wrapped__
    return call


def _numpy(modules: Any) -> dict[str, Any]:
    import numpy as np

    sizes, files = modules.sizes, modules.data_files
    # info and show_* print to the host's own stream; bmat takes names from its caller's frame.
    refused = words(
        "ctypeslib f2py fromfile memmap DataSource lib core testing distutils set_numeric_ops "
        "seterrcall setbufsize set_string_function test show_config show_runtime get_include "
        "add_newdoc add_docstring nested_iters emath bmat info "
    )
    result: dict[str, Any] = dict.fromkeys(refused, REFUSED)

    def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, **keywords: Any) -> Any:
        if allow_pickle or mmap_mode:
            raise ProgramRefusedError("Forbidden: np.load() with allow_pickle or mmap_mode")
        file = data_files.allowed_path(file, files)
        loaded = np.load(file, allow_pickle=False, **keywords)
        return _Archive(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded

    result["load"] = load
    for name in ("save", "savez", "savez_compressed"):
        result[name] = _without_pickles(getattr(np, name), files)
    for name in ("savetxt", "loadtxt", "genfromtxt", "fromregex"):
        result[name] = data_memory.undispatched(data_files.checked(getattr(np, name), files))
    result["frombuffer"] = data_memory.undispatched(data_memory.from_buffer(np.frombuffer))
    result.update(_makers(np, sizes))
    return result


def _makers(module: Any, sizes: Any) -> dict[str, Any]:
    """Functions of ``numpy`` and ``numpy.ma`` that make large arrays of small arguments."""
    result: dict[str, Any] = {}
    where = "np.ma" if module.__name__.endswith("ma") else "np"

    def sized(name: str) -> Any:
        real = getattr(module, name)

        @functools.wraps(real)
        def make(*arguments: Any, **keywords: Any) -> Any:
            shape = arguments[0] if arguments else keywords.get("shape", keywords.get("N", 0))
            given = () if name in ("full", "eye", "identity") else arguments[1:2]
            count = data_memory.items_of(shape, *given, keywords.get("dtype"))
            if name in ("eye", "identity"):
                columns = arguments[1] if name == "eye" and len(arguments) > 1 else None
                columns = keywords.get("M", columns)
                count *= count if columns is None else int(columns)
            sizes.check_items(count, f"{where}.{name}()")
            return real(*arguments, **keywords)

        del make.__wrapped__
        return data_memory.undispatched(make)

    for name in ("ones", "zeros", "empty", "full", "eye", "identity"):
        if hasattr(module, name):
            result[name] = sized(name)

    def arange(*arguments: Any, **keywords: Any) -> Any:
        numbers = [a for a in arguments[:3] if isinstance(a, (int, float))]
        if numbers and len(numbers) == len(arguments[:3]):
            start, stop, step = ((0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1))[:3]
            sizes.check_items(int(abs((stop - start) / (step or 1))), f"{where}.arange()")
        return module.arange(*arguments, **keywords)

    def linspace(start: Any, stop: Any, num: int = 50, *arguments: Any, **keywords: Any) -> Any:
        sizes.check_items(int(num), "np.linspace()")
        return module.linspace(start, stop, num, *arguments, **keywords)

    result["arange"] = data_memory.undispatched(arange)
    if hasattr(module, "linspace"):
        result["linspace"] = data_memory.undispatched(linspace)
    return result


def _numpy_ma(modules: Any) -> dict[str, Any]:
    import copy

    from numpy import ma

    buffer = data_memory.undispatched(data_memory.from_buffer(ma.frombuffer))
    # The text for what is masked is everybody's: a program changes and uses none.
    return {
        **_makers(ma, modules.sizes),
        "frombuffer": buffer,
        "fromfile": REFUSED,
        "masked_print_option": copy.copy(ma.masked_print_option),
    }


def _numpy_records(_modules: Any) -> dict[str, Any]:
    from numpy import rec

    def array(obj: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(obj, (bytes, bytearray, memoryview)) or hasattr(obj, "readinto"):
            raise ProgramRefusedError(
                "Forbidden: records laid over bytes. Use np.frombuffer(buffer, dtype)"
            )
        return rec.array(obj, *arguments, **keywords)

    return {"array": array, "fromstring": REFUSED, "fromfile": REFUSED}


def _pandas(modules: Any) -> dict[str, Any]:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]  # stubs are optional

    refused = words(
        "read_pickle to_pickle read_sql read_sql_query read_sql_table read_hdf HDFStore "
        "read_clipboard eval test show_versions read_gbq read_iceberg ExcelFile ExcelWriter "
    )
    result: dict[str, Any] = dict.fromkeys(refused, REFUSED)
    for name in dir(pd):
        if name.startswith("read_") and name not in result:
            result[name] = data_files.checked(getattr(pd, name), modules.data_files)
    result["pivot_table"] = data_methods.checked_names(pd.pivot_table, 4)
    result["crosstab"] = data_methods.checked_names(pd.crosstab, 5)

    for cls in (pd.DataFrame, pd.Series):
        # A label of this name would be read as the attribute by which numpy is told an address.
        reserved = getattr(cls, "_internal_names_set", None)
        if isinstance(reserved, set):
            reserved.update(MEMORY_PROTOCOLS)
    return result


def _io(_modules: Any) -> dict[str, Any]:
    # open() by other names.
    return dict.fromkeys(("open", "open_code", "FileIO", "OpenWrapper"), REFUSED)


def when_called(view: types.ModuleType, member: str) -> Any:
    """A class of the libraries in the form it is called in."""
    found = getattr(view, member)
    if member == "MultiIndex" and view.__name__ == "pandas":
        return data_methods.verified(found)
    return found


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "numpy": _numpy,
    "numpy.ma": _numpy_ma,
    "numpy.rec": _numpy_records,
    "pandas": _pandas,
    "io": _io,
}

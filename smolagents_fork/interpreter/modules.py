"""Modules as programs see them: read-only copies that show only what is allowed.

A view is a plain module object of the program's own, with the allowed members copied in, so that
reading ``math.sqrt`` costs what it costs in CPython, and nothing leads from it to the real module.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import difflib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import AttributeRefusedError, ImportRefusedError, ProgramRefusedError
from . import replaced, replaced_data
from .build import words
from .loops import Loops
from .meter import Meter
from .ownership import FUNCTIONS
from .policy_data import CLOSED_MODULES

__all__ = ["Modules", "is_authorized"]

#: Submodules that come with their package: they hold nothing their package does not.
_WITH_PACKAGE = {
    "collections.abc": "collections",
    "os.path": "os",
    "numpy.random": "numpy",
    "numpy.linalg": "numpy",
    "numpy.fft": "numpy",
    "numpy.ma": "numpy",
    "numpy.polynomial": "numpy",
    "pandas.api": "pandas",
    "pandas.api.types": "pandas",
    "pandas.errors": "pandas",
    "pandas.tseries.offsets": "pandas",
}
#: Buffers are what numpy and pandas read and write here.
_BUFFERS = ("numpy", "pandas")
#: Functions refused even where their module is authorised, unless given as tools of that name.
#: Upstream's DANGEROUS_FUNCTIONS.
_DANGEROUS = frozenset(
    words(
        "builtins.compile builtins.eval builtins.exec builtins.globals builtins.locals "
        "builtins.__import__ os.popen os.system posix.system posix.popen "
    )
)
_DUNDERS = ("__name__", "__doc__", "__version__", "__all__", "__author__")


def is_authorized(name: str, authorized: Iterable[str]) -> bool:
    """Whether a list of authorised imports allows ``name``, by upstream's rule.

    ``pkg`` allows ``pkg``; ``pkg.*`` allows it and everything below; ``pkg.sub`` allows both
    ``pkg`` and ``pkg.sub``; ``*`` allows everything.
    """
    parts = name.split(".")
    for entry in authorized:
        if entry == "*":
            return True
        allowed = entry.split(".")
        for position, part in enumerate(allowed):
            if part == "*":
                return True
            if position >= len(parts) or part != parts[position]:
                break
            if position + 1 == len(parts):
                return True
    return False


def _copied(value: Any) -> Any:
    """``value``, or a copy if it is a container that everybody could change."""
    if type(value) in (list, set, bytearray, collections.deque):
        return type(value)(value)
    if type(value) in (dict, collections.OrderedDict):
        return type(value)((key, _copied(one)) for key, one in value.items())
    if isinstance(value, (dict, list, set)):
        return copy.copy(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray:
        return value.copy()
    return value


class Modules:
    """The modules of one interpreter.

    Args:
        authorized: authorised imports, upstream's default list included.
        meter: its limits, for members that must be held by them.
        data_files: whether numpy and pandas may use files below the working directory.
    """

    def __init__(self, authorized: Iterable[str], meter: Meter, data_files: bool = False) -> None:
        self.authorized = sorted(set(authorized))
        self.meter = meter
        self.tools: frozenset[str] = frozenset()
        self.namespace: Callable[[], Mapping[str, Any]] = dict
        self.guards: Any = None
        self.sizes: Any = None
        self.stdout: Any = None
        self.stderr: Any = None
        self._views: dict[str, types.ModuleType] = {}
        self._known: set[int] = set()
        self._imported_as: dict[str, str] = {}
        self.borrowed: Any = None
        self.threads: Any = None
        self.loops = Loops(meter)
        self.replaced: dict[str, Mapping[str, Any]] = {}
        #: The program's own classes of polynomials, once numpy's are asked for.
        self.polynomials: dict[str, Any] | None = None
        self.data_files = data_files

    def allows(self, name: str) -> bool:
        if is_authorized(name, self.authorized):
            return not self._closed(name)
        if name == "io":
            return any(self.allows(package) for package in _BUFFERS)
        package = _WITH_PACKAGE.get(name)
        return package is not None and package in self.authorized

    def _closed(self, name: str) -> bool:
        """Whether ``name`` is a submodule that ``numpy.*`` does not stand for."""
        parts = name.split(".")
        inside = parts[0] in _BUFFERS and (
            ".".join(parts[:2]) in CLOSED_MODULES
            or name in CLOSED_MODULES
            or any(p.startswith("_") for p in parts)
        )
        named = [entry for entry in self.authorized if entry != f"{parts[0]}.*"]
        return inside and not is_authorized(name, named)

    def is_view(self, value: Any) -> bool:
        return id(value) in self._known

    # -- import statements --

    def _import(self, name: str) -> types.ModuleType:
        if not self.allows(name):
            refused = ImportRefusedError(
                f"Import of {name} is not allowed. Authorized imports are: {self.authorized}. "
                f"To allow it, the agent's author can pass additional_authorized_imports=[{name!r}]"
            )
            refused.name = name
            raise refused
        return self._load(name)

    def _load(self, name: str) -> types.ModuleType:
        real = importlib.import_module(name)
        self._named(real, name)
        return real

    def _named(self, module: types.ModuleType, name: str) -> None:
        """Remember the name by which the import system knows a module: posixpath is os.path."""
        if module.__name__ != name and sys.modules.get(name) is module:
            self._imported_as[module.__name__] = name

    def import_(self, name: str, as_name: bool) -> types.ModuleType:
        """``import a.b`` gives the view of ``a``; ``import a.b as c`` that of ``a.b``."""
        real = self._import(name)
        if as_name:
            return self.view(real)
        top, *rest = name.split(".")
        found = outer = self.view(importlib.import_module(top), partial=not self.allows(top))
        for depth, part in enumerate(rest, 2):
            inner_name = ".".join(name.split(".")[:depth])
            inner = self.view(self._load(inner_name))
            outer.__dict__[part] = inner
            outer = inner
        return found

    def import_by_name(self, name: str, *_ignored: Any, **_also: Any) -> types.ModuleType:
        """``importlib.import_module``, and ``__import__`` where that is given as a tool."""
        if not self.allows(name):
            raise AttributeRefusedError(f"Forbidden access to module: {name}")
        return self.view(importlib.import_module(name))

    def import_from(self, module: str, name: str) -> Any:
        """``from module import name``"""
        real = self._import(module)
        view = self.view(real)
        if name.startswith("__") and name not in vars(view):
            raise ImportError(f"cannot import name {name!r} from {module!r} (unknown location)")
        try:
            return getattr(view, name)
        except AttributeError as error:
            inner = f"{module}.{name}"
            if isinstance(error, ProgramRefusedError):
                if sys.modules.get(inner) is not None and not self.allows(inner):
                    self._import(inner)  # says how to authorise it
                raise
            if importlib.util.find_spec(inner) is not None if hasattr(real, "__path__") else False:
                return self.view(self._import(inner))
            close = difflib.get_close_matches(name, [n for n in vars(view) if n[0] != "_"], n=3)
            hint = f". Did you mean: {', '.join(map(repr, close))}?" if close else ""
            raise ImportError(
                f"cannot import name {name!r} from {module!r} (unknown location){hint}"
            ) from None

    def names(self, module: str) -> dict[str, Any]:
        """What ``from module import *`` binds."""
        view = self.view(self._import(module))
        public = vars(view).get("__all__")
        if public is None:
            public = [name for name in vars(view) if not name.startswith("_")]
        found = {}
        for name in public:
            # Asked for by no name, so that what is refused is left out instead.
            with contextlib.suppress(AttributeError):
                found[name] = getattr(view, name)
        return found

    # -- views --

    def view(self, module: types.ModuleType, partial: bool = False) -> types.ModuleType:
        """What a program may see of ``module``.

        Raises:
            ProgramRefusedError: the module is not authorised.
        """
        if self.is_view(module):
            return module
        name = module.__name__
        if not partial and not self.allows(self._imported_as.get(name, name)):
            root = name.split(".")[0]
            hint = ""
            if "." in name and self.allows(root):
                hint = (
                    f". Authorized imports are: {self.authorized}. To allow it, the agent's author "
                    f"can pass additional_authorized_imports=[{name!r}], or [{root + '.*'!r}]"
                )
            raise AttributeRefusedError(f"Forbidden access to module: {name}{hint}")
        view = self._views.get(name)
        if view is None:
            # A view that was filled by half would stay so for every run after this one.
            with self.meter.unbroken():
                view = self._views[name] = types.ModuleType(name)
                self._known.add(id(view))
                self._fill(view, module)
        return view

    def _fill(self, view: types.ModuleType, module: types.ModuleType) -> None:
        name = module.__name__
        self.borrowed.use(name)
        members = vars(view)
        for dunder in _DUNDERS:
            if dunder in vars(module):
                members[dunder] = _copied(vars(module)[dunder])
        members.pop("__loader__", None)
        members.pop("__spec__", None)
        instead = replaced.members(name, self)
        for member, value in list(vars(module).items()):
            if member.startswith("_") or isinstance(value, types.ModuleType):
                continue
            if member in instead:
                continue
            if self._refusal(name, member, value) is None:
                members[member] = self._shared(value)
        held = self.guards.held
        members.update({k: held(v) for k, v in instead.items() if v is not replaced.REFUSED})

        def missing(member: str) -> Any:
            return self._member(module, member)

        members["__getattr__"] = missing

    def _shared(self, value: Any) -> Any:
        """A member of a module as everybody may have it: containers copied, objects noted."""
        value = self.guards.held(value)
        copied = _copied(value)
        if copied is value and not isinstance(value, (type, *FUNCTIONS)):
            self.guards.shared[id(value)] = value
        return copied

    def _refusal(self, module: str, member: str, value: Any) -> str | None:
        """Why a member is not handed out, if it is not."""
        if f"{module}.{member}" in _DANGEROUS and member not in self.tools:
            return f"Forbidden access to function: {member}"
        if isinstance(value, (types.BuiltinFunctionType, types.FunctionType)):
            home = f"{value.__module__}.{value.__name__}"
            if home in _DANGEROUS and value.__name__ not in self.tools:
                return f"Forbidden access to function: {value.__name__}"
        return None

    def called_member(self, view: types.ModuleType, member: str) -> Any:
        """A member about to be called: who authorised ``os`` may call ``os.system``.

        Upstream's rule: the function is refused as a value, and runs as a call.
        """
        name = view.__name__
        if name in ("os", "posix") and f"{name}.{member}" in _DANGEROUS and self.allows(name):
            return getattr(importlib.import_module(name), member)
        return replaced_data.when_called(view, member)

    def _member(self, module: types.ModuleType, member: str) -> Any:
        """A member the view does not hold: a submodule, a lazy one, or a refused one."""
        name = module.__name__
        if member.startswith("__") and f"{name}.{member}" in _DANGEROUS:
            raise AttributeRefusedError(f"Forbidden access to function: {member}")
        if member.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {member!r}")
        if replaced.members(name, self).get(member) is replaced.REFUSED:
            raise AttributeRefusedError(
                f"Forbidden access to function: {name}.{member}: it reads or runs what the "
                "interpreter cannot check"
            )
        value = getattr(module, member)
        if isinstance(value, types.ModuleType):
            self._named(value, f"{name}.{member}")
            return self.view(value)
        refusal = self._refusal(name, member, value)
        if refusal is None and member.startswith("_"):
            refusal = f"Forbidden access to attribute: {member} of module {name!r}"
        if refusal is not None:
            raise AttributeRefusedError(refusal)
        return self._shared(value)

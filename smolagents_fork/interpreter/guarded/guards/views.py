"""Imports of a program: read-only views of authorised modules.

A view is a module object of its own. What its module defines is copied into it, so that reading
``math.sqrt`` costs what it costs in CPython; the module's variables, which may change, are read in
the module each time. Nothing leads from a view to the real module. It has no private names and none
of the modules that the real one imports.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ....errors import AttributeRefusedError, ImportRefusedError, ProgramRefusedError
from ...imports import ALIASED_SUBMODULES, is_authorized, is_public, only_leads, refusal_advice
from .. import policy

__all__ = ["ModuleViews"]

#: Functions refused as values even where their module is authorised, unless given as tools of that
#: name: upstream's DANGEROUS_FUNCTIONS.
_DANGEROUS = frozenset(
    """
    builtins.compile builtins.eval builtins.exec builtins.globals builtins.locals
    builtins.__import__ os.popen os.system posix.system posix.popen
    """.split()
)
_DUNDERS = policy.ALLOWED_DUNDERS | {"__author__"}  # those of operator are functions
#: What of a module comes with other packages that are authorised.
_PARTS = {"io": (("numpy", "pandas"), ("BytesIO", "StringIO", "TextIOWrapper"))}
#: What a module defines: bound to its own name for good.
_DEFINED = (type, types.FunctionType, types.BuiltinFunctionType)


class _LoadedModules(Mapping[str, Any]):
    """``sys.modules``: the authorised ones, as views."""

    def __init__(self, views: ModuleViews) -> None:
        self._views = views

    def __getitem__(self, name: str) -> Any:
        return self._views.view(sys.modules[name])

    def __contains__(self, name: object) -> bool:
        return name in sys.modules and self._views.allows(str(name))

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in sys.modules if self._views.allows(name)])

    def __len__(self) -> int:
        return len(list(iter(self)))


class ModuleViews:
    """Imports of one interpreter's programs: what is authorised, and the views that exist.

    Args:
        authorized: authorised imports, the default ones included.
        overrides: makes the members of a module that programs get in another form.
    """

    def __init__(
        self,
        authorized: Iterable[str],
        overrides: Callable[[types.ModuleType], Mapping[str, Any]],
    ) -> None:
        #: Names of the tools at hand: one may bear a dangerous function's name.
        self.tools: frozenset[str] = frozenset()
        self.authorized = sorted(set(authorized))
        self.loaded: Mapping[str, Any] = _LoadedModules(self)
        self._overrides = overrides
        self._views: dict[str, types.ModuleType] = {}
        #: The real modules, by the identity of their views.
        self._real: dict[int, types.ModuleType] = {}
        self._imported_as: dict[str, str] = {}
        #: Names of modules that were found in others of their package.
        self._members: set[str] = set()

    def allows(self, name: str) -> bool:
        """Tell whether programs may import ``name``."""
        if is_authorized(name, self.authorized):
            return True
        return name in _PARTS and any(self.allows(package) for package in _PARTS[name][0])

    def is_view(self, value: Any) -> bool:
        """Tell whether a module object is a view."""
        return id(value) in self._real

    def real(self, value: Any) -> Any:
        """Give the module behind a view, for libraries; anything else as it is."""
        return self._real.get(id(value), value)

    def called_member(self, view: types.ModuleType, name: str) -> Any:
        """Give a member about to be called: whoever authorised ``os`` may call its shell."""
        home = view.__name__
        if f"{home}.{name}" in _DANGEROUS and not self._only_leads(home):
            return getattr(sys.modules[home], name)
        return getattr(view, name)

    def _only_leads(self, name: str) -> bool:
        return only_leads(self._imported_as.get(name, name), self.authorized)

    # -- import statements --

    def _import(self, name: str) -> types.ModuleType:
        if not self.allows(name):
            refused = ImportRefusedError(
                f"Import of {name} is not allowed. {refusal_advice(name, self.authorized)}"
            )
            refused.name = name
            raise refused
        return self._load(name)

    def _load(self, name: str) -> types.ModuleType:
        real = importlib.import_module(name)
        self._note_name(real, name)
        return real

    def _note_name(self, module: types.ModuleType, name: str) -> None:
        """Remember the name by which the import system knows a module: posixpath is os.path.

        Only of modules that the list names: ``six.moves.builtins`` is not part of ``six``.
        """
        starred = [entry for entry in self.authorized if entry.endswith("*")]
        known = name in {*ALIASED_SUBMODULES, *self.authorized} or is_authorized(name, starred)
        if known and module.__name__ != name and sys.modules.get(name) is module:
            self._imported_as[module.__name__] = name

    def import_module(self, name: str, as_name: bool) -> types.ModuleType:
        """Carry out ``import a.b``, which gives ``a``, or ``import a.b as c``: ``a.b``."""
        real = self._import(name)
        if as_name:
            return self.view(real)
        top, *rest = name.split(".")
        top_view = outer = self.view(importlib.import_module(top))
        for depth, part in enumerate(rest, 2):
            inner = self.view(self._load(".".join(name.split(".")[:depth])))
            vars(outer)[part] = inner
            outer = inner
        return top_view

    def import_by_name(self, name: str, *_ignored: Any, **_also: Any) -> types.ModuleType:
        """Carry out ``importlib.import_module``, and ``__import__`` where that is a tool."""
        name = str.__str__(name)
        if not self.allows(name):
            raise AttributeRefusedError(f"Forbidden access to module: {name}")
        return self.view(self._load(name))

    def import_from(self, module: str, name: str) -> Any:
        """Carry out ``from module import name``."""
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
            if hasattr(real, "__path__") and importlib.util.find_spec(inner) is not None:
                return self.view(self._import(inner))
            close = difflib.get_close_matches(name, [n for n in dir(view) if n[0] != "_"], n=3)
            hint = f". Did you mean: {', '.join(map(repr, close))}?" if close else ""
            raise ImportError(
                f"cannot import name {name!r} from {module!r} (unknown location){hint}"
            ) from None

    def names(self, module: str) -> dict[str, Any]:
        """Collect what ``from module import *`` binds."""
        view = self.view(self._import(module))
        public = vars(view).get("__all__")
        if public is None:
            public = [name for name in dir(view) if not name.startswith("_")]
        members = {}
        for name in public:
            # Asked for without a name, so that what is refused is left out instead.
            with contextlib.suppress(AttributeError):
                members[name] = getattr(view, name)
        return members

    # -- views --

    def view(self, module: types.ModuleType) -> types.ModuleType:
        """Give what a program may see of ``module``.

        Args:
            module: a real module, or a view.

        Raises:
            AttributeRefusedError: the module is not authorised.
        """
        if self.is_view(module):
            return module
        name = module.__name__
        if not (self.allows(self._imported_as.get(name, name)) or name in self._members):
            known = "." in name and self.allows(name.split(".")[0])
            hint = f". {refusal_advice(name, self.authorized)}" if known else ""
            raise AttributeRefusedError(f"Forbidden access to module: {name}{hint}")
        view = self._views.get(name)
        if view is None:
            view = self._make(module)
            # Entered when it is whole: a stop in the middle leaves none behind.
            self._real[id(view)] = module
            self._views[name] = view
        return view

    def _make(self, module: types.ModuleType) -> types.ModuleType:
        name, members = module.__name__, dict(vars(module))
        overrides = self._overrides(module)
        if self._comes_in_part(name):
            members = {member: members[member] for member in _PARTS[name][1]}
        shown: dict[str, Any] = {}
        variables: dict[str, property] = {}
        if not self._only_leads(name):
            for member, value in members.items():
                if member in _DUNDERS or member in overrides:
                    shown[member] = overrides.get(member, value)
                elif not member.startswith("_") and self._is_shown(name, member, value):
                    if isinstance(value, _DEFINED) and value.__name__ == member:
                        shown[member] = value
                    else:
                        # In C: a call of Python code would make a loop over math.pi slow.
                        variables[member] = property(functools.partial(vars(module).get, member))
        view: types.ModuleType = type("module", (types.ModuleType,), variables)(name)
        for absent in ("__loader__", "__spec__"):
            del vars(view)[absent]
        vars(view).update(
            shown,
            __dir__=lambda: sorted(shown | variables.keys()),
            __getattr__=functools.partial(self._member, module),
        )
        return view

    def _comes_in_part(self, name: str) -> bool:
        return name in _PARTS and not is_authorized(name, self.authorized)

    def _is_shown(self, module: str, member: str, value: Any) -> bool:
        return not isinstance(value, types.ModuleType) and (
            self._refusal(module, member, value) is None
        )

    def _is_part(self, home: str, value: types.ModuleType) -> bool:
        """Tell whether a module comes with another of its package that it is a member of.

        So ``plt.style`` comes with pyplot. What only leads to a module hands out nothing.
        """
        name = value.__name__
        return (
            name.split(".")[0] == home.split(".")[0]
            and is_public(name, 1)
            and not self._only_leads(home)
        )

    def _refusal(self, module: str, member: str, value: Any) -> str | None:
        """Say why a member is not handed out, if it is not."""
        if f"{module}.{member}" in _DANGEROUS and member not in self.tools:
            return f"Forbidden access to function: {member}"
        if isinstance(value, (types.BuiltinFunctionType, types.FunctionType)):
            home = f"{value.__module__}.{value.__name__}"
            if home in _DANGEROUS and value.__name__ not in self.tools:
                return f"Forbidden access to function: {value.__name__}"
        return None

    def _member(self, module: types.ModuleType, member: str) -> Any:
        """Find a member that the view does not have: a submodule, a lazy one, or a refused one."""
        name = module.__name__
        if member == "__import__" and name == "builtins" and member in self.tools:
            return self.import_by_name
        if member.startswith("__") and f"{name}.{member}" in _DANGEROUS:
            raise AttributeRefusedError(f"Forbidden access to function: {member}")
        if member.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {member!r}")
        try:
            value = getattr(module, member)
        except AttributeError as error:
            # A new error: the module's own has the module in it.
            raise AttributeError(str(error)) from None
        if isinstance(value, types.ModuleType):
            self._note_name(value, f"{name}.{member}")
            if member[0] != "_" and self._is_part(name, value):
                self._members.add(value.__name__)
            return self.view(value)
        refusal = self._refusal(name, member, value)
        if refusal is None and member.startswith("_"):
            refusal = f"Forbidden access to attribute: {member} of module {name!r}"
        if refusal is None and (self._only_leads(name) or self._comes_in_part(name)):
            refusal = (
                f"Forbidden access to attribute: {name}.{member}. "
                f"{refusal_advice(name, self.authorized)}"
            )
        if refusal is not None:
            raise AttributeRefusedError(refusal)
        return value

"""THE boundary: every decision about a running program is taken in this file.

``transform`` sends here what can be dangerous; the names it uses begin with ``@``. What it does not
send here is safe because of what is decided here: no module, frame, code object, loader or
function's namespace is ever handed to a program, so the plain operations it runs find none.

A guard raises :class:`AttributeRefusedError` and its like, which a program may catch as it may
catch any error, or stops the run through the meter, which it may not.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import AttributeRefusedError, ProgramRefusedError
from . import (
    bindings,
    data_memory,
    data_methods,
    formats,
    policy,
    replaced_reflection,
    replaced_waiting,
    sizes,
)
from .handles import ToolHandle, handle
from .meter import Meter
from .outside import HostWork
from .ownership import FUNCTIONS, is_dunder
from .policy_data import MEMORY_PROTOCOLS
from .refused_builtins import RefusedBuiltins
from .sized_types import SizedType, plain_type, prepared
from .writing import WRITING_METHODS, Writing

__all__ = ["Guards", "ToolHandle"]

_MISSING = object()
_BUILTIN_METHOD = type("".format)
#: Types that are never handed out, whatever attribute they were found under.
_NEVER = (types.FrameType, types.CodeType, types.TracebackType)
_PROXIES = policy.PROXY_ATTRIBUTES | {"__members__"}
#: Types of which nothing needs a second look when an attribute is one.
_ORDINARY = frozenset(
    {
        *(bool, bytes, dict, float, int, list, set, str, type(None)),
        *(types.BuiltinFunctionType, types.FunctionType, types.MethodType),
    }
)
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def _view_of_a_copy(view: types.MappingProxyType[Any, Any]) -> types.MappingProxyType[Any, Any]:
    try:
        return types.MappingProxyType(view.copy())
    except AttributeError:
        return view  # of a mapping that is no dict


class Guards(Writing, RefusedBuiltins):
    """The guards of one interpreter.

    Args:
        meter: its limits.
        view: turns a module into what a program may see of it, or raises.
        is_view: whether a module object is such a view.
        called_member: a view's member that is about to be called.
    """

    def __init__(
        self,
        meter: Meter,
        view: Callable[[types.ModuleType], Any],
        is_view: Callable[[Any], bool],
        called_member: Callable[[types.ModuleType, str], Any],
    ) -> None:
        self.meter = meter
        self.view = view
        self.is_view = is_view
        self.called_member = called_member
        self.extra_dunders: frozenset[str] = frozenset()
        self.data_files = False
        #: The program's own generator of numpy's, which nothing of the host's draws from.
        self.generator: Callable[[], Any] = lambda: None
        super().__init__()
        self.sizes = sizes.Sizes(meter)
        self.host = HostWork(meter)
        self.roots: Callable[[], Any] = frozenset
        self.stdout: Any = None
        self.deepcopy: Callable[[Any, Any], Any] | None = None

    # -- attributes --

    def private(self, value: Any, name: str) -> Any:
        """``value``, if its single-underscore attribute ``name`` may be read by the program."""
        cls = type(value)
        if id(cls) in self.own:
            return value
        if name in policy.ALLOWED_UNDERSCORE and (
            name not in policy.OWN_UNDERSCORE or self.is_own(value)
        ):
            return value
        if isinstance(value, types.ModuleType):
            getattr(value, name)  # a view answers with what is refused and why
            if self.is_view(value) and name in vars(value):
                return value
            raise AttributeRefusedError(f"Forbidden access to attribute: {name}")
        if self.is_own_member(value, name):
            self._vet(getattr(value, name, None))
            return value
        if isinstance(value, FUNCTIONS) and value.__globals__ is self.globals:
            return value
        if not hasattr(value, name):
            return value  # the plain access says so, in CPython's words
        raise AttributeRefusedError(
            f"Forbidden access to attribute: {name} of {cls.__name__!r} object: names that begin "
            "with an underscore are private to the object's own library"
        )

    def augmentable(self, value: Any, name: str) -> Any:
        """``value``, if the program may both read and set its attribute ``name``."""
        allowed = self.writable(value, name)
        if name in policy.GUARDED_ATTRIBUTES or name in policy.DATA_ATTRIBUTES:
            self.read(value, name)
        if name in _PROXIES and self.proxied(value, name) is not value:
            raise AttributeRefusedError(f"Cannot assign to {name!r}: it is a read-only view")
        return allowed

    def proxied(self, value: Any, name: str) -> Any:
        """What to read ``name`` from, one of those that may be a view of a dict of the host's."""
        if self.is_own_member(value, name):
            return value
        found = getattr(value, name, None)
        shown = self._vet(found)
        return value if shown is found else types.SimpleNamespace(**{name: shown})

    def _vet(self, value: Any) -> Any:
        if isinstance(value, _NEVER):
            raise AttributeRefusedError(f"Forbidden access to {type(value).__name__} object")
        if isinstance(value, types.ModuleType) and not self.is_view(value):
            return self.view(value)
        if isinstance(value, (type, tuple)):
            return self.held(value)
        if type(value) is types.MappingProxyType:
            return _view_of_a_copy(value)
        if (
            isinstance(value, _DESCRIPTORS)
            and value.__name__ in _PROXIES
            and not self.is_own_class(value.__objclass__)
        ):
            raise AttributeRefusedError(f"Forbidden access to descriptor: {value.__name__}")
        return value

    def read(self, value: Any, name: str, default: Any = _MISSING) -> Any:
        """The attribute ``name`` of ``value`` as a program may see it: every road by name."""
        if type(name) is not str:
            if not isinstance(name, str):
                raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
            name = str.__str__(name)
        name = formats.normal(name)
        if policy.is_plain(name) and not isinstance(value, SizedType):
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            return found if type(found) in _ORDINARY else self._vet(found)
        if isinstance(value, SizedType):
            if name in ("__call__", "__getitem__"):
                return getattr(value, name)
            value = plain_type(value)
        if is_dunder(name):
            return self._read_dunder(value, name, default)
        if name in policy.GUARDED_ATTRIBUTES:
            return self._read_guarded(value, name, default)
        if name in policy.SIZED_METHODS and self.sizes.measures(value, name):
            return self.sizes.method(value, name)
        if name in policy.DATA_ATTRIBUTES:
            found = data_methods.method(value, name, self)
            if found is not None:
                return found
        if name.startswith("_"):
            if default is not _MISSING and not hasattr(value, name):
                return default
            self.private(value, name)
        found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
        return self._vet(found)

    def called(self, value: Any, name: str) -> Any:
        """The attribute ``name`` of ``value``, about to be called."""
        if isinstance(value, types.ModuleType) and self.is_view(value):
            return self.called_member(value, name)
        return self.read(value, name)

    def _read_dunder(self, value: Any, name: str, default: Any) -> Any:
        if default is not _MISSING and not hasattr(value, name):
            return default
        if name in policy.ALLOWED_DUNDERS or name in self.extra_dunders:
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            if name == "__members__" and isinstance(found, property):
                raise AttributeRefusedError(f"Forbidden access to descriptor: {name}")
            return self._vet(found)
        if name in policy.OWN_DUNDERS:
            return self.own_dunder(value, name)
        if name in ("__annotations__", "__dataclass_fields__", "__slots__"):
            found = getattr(value, name)
            if self.is_own(value):
                return found
            if type(found) is dict:
                return {key: self.held(one) for key, one in found.items()}
            return copy.copy(found)
        if name in ("__wrapped__", "__defaults__", "__kwdefaults__") and self.is_own(value):
            return getattr(value, name)
        if name == "__wrapped__" and self.is_own(found := getattr(value, name, None)):
            return found  # of functools.cache
        if name in ("__getattribute__", "__getattr__"):
            found = getattr(value, name)
            return self._by_name(found, value)
        if name in ("__setattr__", "__delattr__"):
            return self.written_by_name(getattr(value, name), value, name)
        if name in WRITING_METHODS:
            return self.written_by_method(getattr(value, name), value, name)
        if name == "__deepcopy__":
            found = getattr(value, name)
            return found if self.is_own(value) or self.deepcopy is None else self._copier(value)
        if name == "__prepare__":
            return prepared(getattr(value, name))
        if name == "__new__":
            return self.maker(getattr(value, name))
        if name == "__format__":
            return self.sizes.limited_format(getattr(value, name))
        if name in self.sizes.OPERATORS:
            return self.sizes.operator(value, name)
        raise AttributeRefusedError(
            f"Forbidden access to dunder attribute: {name}. "
            "Forbidden function evaluation: 'getattr' may not reach it either"
        )

    def _copier(self, value: Any) -> Any:
        def deepcopy(memo: Any = None) -> Any:
            assert self.deepcopy is not None
            return self.deepcopy(value, memo)

        return deepcopy

    def _by_name(self, found: Any, owner: Any) -> Any:
        """``object.__getattribute__``, ``super().__getattr__``: names checked as anywhere else."""
        static = isinstance(owner, type)

        def getattribute(*arguments: Any) -> Any:
            name = arguments[-1]
            target = arguments[0] if static and len(arguments) > 1 else owner
            if isinstance(name, str):
                name = formats.normal(str.__str__(name))
                arguments = (*arguments[:-1], name)
                hidden = (
                    name.startswith("_")
                    or name in policy.GUARDED_ATTRIBUTES
                    or name in policy.DATA_ATTRIBUTES
                )
                if is_dunder(name) and name in policy.ALLOWED_DUNDERS:
                    hidden = False
                if hidden and (is_dunder(name) or not self.is_own_member(target, name)):
                    return self.read(target, name)
            return self._vet(found(*arguments))

        return getattribute

    def _read_guarded(self, value: Any, name: str, default: Any) -> Any:
        text = isinstance(value, str) or (isinstance(value, type) and issubclass(value, str))
        if text and name in ("format", "format_map"):
            found = getattr(value, name)
            if getattr(found, "__objclass__", None) is str or type(found) is _BUILTIN_METHOD:
                return formats.guarded_format(value, name, self.read, self.sizes)
            return found  # a method of the program's own subclass
        if isinstance(value, types.ModuleType):
            if not self.is_view(value):
                raise AttributeRefusedError(f"Forbidden access to module: {value.__name__}")
            return getattr(value, name) if default is _MISSING else getattr(value, name, default)
        if (method := data_methods.method(value, name, self)) is not None:
            return method
        if name == "mro" and isinstance(value, type):
            return lambda *given: self.visible_mro(given[0] if given else value)
        if self.is_own_member(value, name):
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            return self._vet(found)
        if name == "register":
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            is_class = isinstance(value, type) or type(value) is super
            return self.registering(found) if is_class else self._vet(found)
        if isinstance(value, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
            if name.endswith(("_running", "_suspended")):
                return getattr(value, name)
        elif isinstance(value, replaced_reflection.FrameStandIn):
            return value.f_builtins if name == "f_builtins" else getattr(value, name)
        elif isinstance(value, replaced_waiting.LoopStandIn):
            return getattr(value, name)
        elif formats.harmless(value, name, self.is_own_class):
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            return self._vet(found)
        elif not hasattr(value, name):
            if default is not _MISSING:
                return default
            return getattr(value, name)
        raise AttributeRefusedError(
            f"Forbidden access to attribute: {name} of {type(value).__name__!r} object"
        )

    def handle(self, name: str, tool: Any) -> Any:
        """``tool`` as it may be handed to a program."""
        return handle(name, tool, self)

    # -- builtins that reach attributes by name --

    def getattr_(self, *arguments: Any) -> Any:
        if not 2 <= len(arguments) <= 3:
            bound = "least 2" if len(arguments) < 2 else "most 3"
            raise TypeError(f"getattr expected at {bound} arguments, got {len(arguments)}")
        return self.read(*arguments)

    def hasattr_(self, *arguments: Any) -> bool:
        if len(arguments) != 2:
            raise TypeError(f"hasattr expected 2 arguments, got {len(arguments)}")
        value, name = arguments
        if type(name) is str and policy.is_plain(name) and id(type(value)) in self.own:
            return hasattr(value, name)
        try:
            self.read(*arguments)
        except (AttributeError, ProgramRefusedError):
            return False
        return True

    def vars_(self, *arguments: Any) -> Any:
        if not arguments:
            raise ProgramRefusedError(
                "Forbidden call to vars() without an argument: use plain variables"
            )
        value = arguments[0]
        if isinstance(value, types.ModuleType):
            raise ProgramRefusedError("Forbidden call to vars() of a module: use its attributes")
        if id(type(value)) in self.own:
            return vars(value)
        value = plain_type(value)
        if isinstance(value, type):
            if not self.is_own_class(value):
                raise ProgramRefusedError(f"Forbidden call to vars() of class {value.__name__!r}")
            hidden = ("__dict__", "__weakref__", "__source__")
            shown = {k: self.held(v) for k, v in data_memory.shown(vars(value)).items()}
            return types.MappingProxyType({k: v for k, v in shown.items() if k not in hidden})
        if self.is_own_class(type(value)):
            found = vars(value)
            # Of a class that is still being made, which is not hardened yet.
            return dict(found) if self.hardens and not self.is_adopted(type(value)) else found
        found = {k: self._vet(v) for k, v in vars(value).items()}
        return {k: v for k, v in found.items() if not k.startswith("_")}

    def dir_(self, *arguments: Any) -> list[str]:
        if not arguments:
            return sorted(name for name in self.globals if not name.startswith(("_", "@")))
        return [name for name in dir(*arguments) if name not in MEMORY_PROTOCOLS]

    def sized_type(self, found: Any) -> Any:
        """A builtin type or function as a value, with what its calls must be looked at for."""
        return (
            self.held(found)
            if isinstance(found, type) and found is type
            else self.sizes.sized_type(found)
        )

    def source(self, text: str) -> Callable[[Any], Any]:
        """Keep a function's source where upstream keeps it."""

        def mark(function: Any) -> Any:
            if isinstance(function, FUNCTIONS):
                function.__source__ = text  # type: ignore[attr-defined]
            elif isinstance(function, type) and self.is_own_class(function):
                type.__setattr__(function, "__source__", text)  # no business of its metaclass
            return function  # a metaclass may have made anything at all

        return mark

    def namespace(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """What a program finds under each name that it has not bound itself; see bindings."""
        return bindings.program_builtins(self, tools)

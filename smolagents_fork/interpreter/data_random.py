"""Generators of numpy's: what a program may seed them with, and which states it may give them.

Part of the boundary that guards.py decides by. The code of C behind a generator believes that a
seed's ``generate_state()`` gives an array of the size it asked for, and that the position in a
state is one within its block of numbers: it reads the memory there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import AttributeRefusedError, ProgramRefusedError
from .families import real_mro

__all__ = ["check_base", "check_seed", "is_bit_generator", "set_state", "stated"]

#: How many numbers a generator of this name has at hand, and where a state keeps the position.
_BLOCKS = {"MT19937": 624, "Philox": 4}


def is_bit_generator(cls: type) -> bool:
    """Whether a class is one of numpy's bit generators, or derives from one."""
    base = getattr(sys.modules.get("numpy.random"), "BitGenerator", None)
    return base is not None and base in real_mro(cls)


def check_base(cls: Any) -> Any:
    """``cls``, if a program may derive from it.

    Raises:
        AttributeRefusedError: it is a bit generator, whose seeds would not be looked at.
    """
    if isinstance(cls, type) and is_bit_generator(cls):
        raise AttributeRefusedError(
            f"Cannot derive from {cls.__name__!r}: it reads memory where its state says. Keep a "
            "generator in an attribute"
        )
    return cls


def check_seed(seed: Any, is_own_class: Callable[[type], bool]) -> None:
    """Refuse a seed that is not a number, a sequence of them or a thing of numpy's.

    Raises:
        ProgramRefusedError: it may say that it is a ``SeedSequence``.
    """
    cls = type(seed)
    root = str(cls.__module__).split(".")[0]
    if is_own_class(cls) or root not in ("builtins", "numpy"):
        raise ProgramRefusedError(
            f"Forbidden seed: {cls.__name__!r} object. Pass an integer, a list of integers or "
            "np.random.SeedSequence(...)"
        )


def _settled(state: Any) -> Any:
    """A state that cannot be another later, its position looked at.

    Raises:
        ProgramRefusedError: the position is not in the block.
    """
    if isinstance(state, tuple):  # of RandomState.get_state()
        state = list(state)
        if len(state) > 2:
            state[2] = _position("MT19937", state[2])
        return tuple(state)
    if not isinstance(state, Mapping):
        return state  # numpy says what is wrong
    settled = {str(key): value for key, value in dict(state).items()}
    if isinstance(inner := settled.get("state"), Mapping):
        inner = settled["state"] = dict(inner)
        if "pos" in inner:
            inner["pos"] = _position("MT19937", inner["pos"])
    if "buffer_pos" in settled:
        settled["buffer_pos"] = _position("Philox", settled["buffer_pos"])
    return settled


def _position(name: str, given: Any) -> int:
    position = int(given)
    if not 0 <= position <= _BLOCKS[name]:
        raise ProgramRefusedError(
            f"Forbidden state: position {position}, where a {name} has {_BLOCKS[name]} numbers"
        )
    return position


class _Stated:
    """What ``bit_generator.state = ...`` is done to: the generator, behind a look at the state."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    @property
    def state(self) -> Any:
        return self._generator.state

    @state.setter
    def state(self, state: Any) -> None:
        self._generator.state = _settled(state)


def stated(value: Any, name: str) -> Any:
    """What stands for ``value`` where its attribute ``name`` is set; ``None`` for itself."""
    return _Stated(value) if name == "state" and is_bit_generator(type(value)) else None


def set_state(found: Any) -> Callable[..., Any]:
    """``RandomState.set_state`` behind a look at the state."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = (*arguments[:-1], *(_settled(one) for one in arguments[-1:]))
        return found(*given, **{name: _settled(one) for name, one in keywords.items()})

    call.__name__ = call.__qualname__ = "set_state"
    return call

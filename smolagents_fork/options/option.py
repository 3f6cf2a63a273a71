"""Definition of an option: a field of a frozen dataclass, with all that is known of it.

The dataclass of an executor is its constructor's signature, for editors and at run time. It checks
the arguments, suggests the option that an unknown name probably means, and is the source of the
documentation's tables.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from ..errors import ConfigurationTypeError
from .unknown_names import check_known

__all__ = [
    "About",
    "Check",
    "Options",
    "about",
    "option",
    "options_of_calls",
    "part_of",
    "same_as",
    "taking",
    "words_of",
]

#: Returns the value to keep.
Check = Callable[[str, Any], Any]

_KEY = "option"
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Options = TypeVar("_Options", bound="Options")


@dataclass(frozen=True)
class About:
    """Properties of an option besides its name, its type and its default.

    Attributes:
        says: what it is for, in a sentence or two.
        check: refuses an invalid argument; ``None``: any is accepted.
        form: form of the value, and its unit.
        elsewhere: its names in docker-py, compose files, hosted services and other executors.
        of_call: whether it concerns the calls of an executor and not its sandbox, so that it may
            differ from the pool's.
    """

    says: str
    check: Check | None = None
    form: str = ""
    elsewhere: str = ""
    of_call: bool = False


def option(
    default: Any,
    says: str,
    check: Check | None = None,
    *,
    form: str = "",
    elsewhere: str = "",
    of_call: bool = False,
) -> Any:
    """Define an option as a field of a dataclass.

    Args:
        default: used where it is not given; checked, too.
        says: see :class:`About`, as for the others.
        check: takes the name and the argument, and returns the value to keep.
        form: form of the value, and its unit.
        elsewhere: names elsewhere, with spaces between.
        of_call: whether it concerns calls and not the sandbox.

    Example:
        >>> from dataclasses import dataclass
        >>> from smolagents_fork.options.accept import count
        >>> from smolagents_fork.options.option import Options, option
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Rounds(Options):
        ...     rounds: int = option(3, "rounds of a game", count)
        >>> Rounds.of("Game", (), {"rounds": 5})
        Rounds(rounds=5)
    """
    known = About(says, check, form, elsewhere, of_call)
    return dataclasses.field(default=default, metadata={_KEY: known})


def same_as(kind: type, name: str, **changes: Any) -> Any:
    """Define an option as another class has it.

    Args:
        **changes: ``default``, or what of :class:`About` is different.
    """
    field = kind.__dataclass_fields__[name]  # type: ignore[attr-defined]
    default = changes.pop("default", field.default)
    known = dataclasses.replace(field.metadata[_KEY], **changes)
    return dataclasses.field(default=default, metadata={_KEY: known})


def about(kind: type) -> dict[str, About]:
    """Return the properties of each option of a class, in their order."""
    return {
        field.name: field.metadata[_KEY]
        for field in dataclasses.fields(kind)
        if _KEY in field.metadata
    }


@dataclass(frozen=True)
class Options:
    """Base of the options of a class: each is checked, then all together."""

    #: Names of those that may be given by position, in their order.
    by_position: ClassVar[tuple[str, ...]] = ()
    #: Names of those that were passed, even with their defaults; set by :meth:`of`.
    given: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for name, known in about(type(self)).items():
            if known.check is not None:
                object.__setattr__(self, name, known.check(name, getattr(self, name)))
        self.check_together()

    def check_together(self) -> None:
        """Refuse options that do not go together.

        Raises:
            ConfigurationError: names the options and what to give instead.
        """

    @classmethod
    def of(
        cls: type[_Options], owner: str, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> _Options:
        """Build options from the arguments of a call.

        Raises:
            ConfigurationError: an unknown keyword, one that is given twice, too many arguments, or
                an invalid value.
        """
        known = about(cls)
        named_values = dict(keywords)
        others = {field.name for field in dataclasses.fields(cls)} - known.keys()
        check_known(owner, named_values.keys() - others, known, lambda: words_of(cls))
        if len(arguments) > len(cls.by_position):
            raise ConfigurationTypeError(
                f"{owner} was passed {len(arguments)} arguments by position but takes "
                f"{len(cls.by_position)}: pass the others by name"
            )
        for name, value in zip(cls.by_position, arguments, strict=False):
            if name in named_values:
                raise ConfigurationTypeError(f"{owner}: {name} was passed by position and by name")
            named_values[name] = value
        options = cls(**cls.complete(named_values))
        object.__setattr__(options, "given", frozenset(named_values))
        return options

    @classmethod
    def complete(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments, with the options whose defaults depend on them.

        Args:
            arguments: arguments by name, not checked.
        """
        return arguments


def options_of_calls(kind: type) -> list[str]:
    """Return the options that concern the calls of an executor and not its sandbox."""
    return [name for name, known in about(kind).items() if known.of_call]


def words_of(*kinds: type) -> dict[str, list[str]]:
    """Return the options that are called by a word elsewhere, for each such word."""
    options_by_word: dict[str, list[str]] = {}
    for cls in kinds:
        for name, known in about(cls).items():
            for word in known.elsewhere.split():
                options_by_word.setdefault(word, []).append(name)
    return options_by_word


def part_of(options: Any, kind: type[_Result]) -> _Result:
    """Return the options of one class among those of a subclass."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: getattr(options, name) for name in names})


def taking(
    kind: Callable[_Parameters, object],
) -> Callable[[Callable[..., _Result]], Callable[Concatenate[Any, _Parameters], _Result]]:
    """Give a method the signature of a dataclass, for editors, type checkers and ``help()``."""

    def decorate(method: Callable[..., _Result]) -> Callable[..., _Result]:
        first, *_ = inspect.signature(method).parameters.values()
        order = kind.by_position  # type: ignore[attr-defined]
        parameters = inspect.signature(kind).parameters
        by_name = [parameters[name] for name in about(kind) if name not in order]  # type: ignore[arg-type]
        by_position = [parameters[name] for name in order]
        method.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                first.replace(kind=first.POSITIONAL_OR_KEYWORD),
                *(option.replace(kind=option.POSITIONAL_OR_KEYWORD) for option in by_position),
                *(option.replace(kind=option.KEYWORD_ONLY) for option in by_name),
            ]
        )
        return method

    return decorate

"""An option is defined once: signature, checks, names and defaults come from its definition."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, replace
from typing import Any, ClassVar

import pytest

from smolagents_fork import (
    AgentSandbox,
    DockerExecutor,
    DockerPool,
    ProcessExecutor,
    WasmExecutor,
    WasmPool,
)
from smolagents_fork.errors import ConfigurationError, ConfigurationTypeError
from smolagents_fork.executors.docker.agent_sandbox import AgentArguments
from smolagents_fork.executors.docker.arguments import DockerArguments, SetupArguments
from smolagents_fork.executors.docker.docker_pool import DockerPoolArguments
from smolagents_fork.executors.process.process_options import ProcessArguments
from smolagents_fork.executors.wasm.wasm_executor import WasmArguments
from smolagents_fork.executors.wasm.wasm_options import SetupOptions
from smolagents_fork.executors.wasm.wasm_pool import WasmPoolArguments
from smolagents_fork.options import accept
from smolagents_fork.options.option import Options, about, option, part_of, same_as, taking

FUNCTIONS = [
    (AgentSandbox, AgentArguments),
    (DockerExecutor, DockerArguments),
    (DockerExecutor.acreate, DockerArguments),
    (DockerExecutor.setup, SetupArguments),
    (DockerPool, DockerPoolArguments),
    (ProcessExecutor, ProcessArguments),
    (WasmExecutor, WasmArguments),
    (WasmExecutor.acreate, WasmArguments),
    (WasmExecutor.setup, SetupOptions),
    (WasmPool, WasmPoolArguments),
]


@pytest.mark.parametrize(("function", "kind"), FUNCTIONS)
def test_signature_has_every_option_with_type_and_default(function, kind):
    parameters = inspect.signature(function).parameters
    defined = inspect.signature(kind).parameters
    assert set(parameters) == set(about(kind))
    for name, parameter in parameters.items():
        assert parameter.default == defined[name].default, name
        assert parameter.annotation == defined[name].annotation, name
    by_position = [n for n, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert tuple(by_position) == kind.by_position


@pytest.mark.parametrize(("_function", "kind"), FUNCTIONS)
def test_every_option_says_what_it_is_for_and_its_unit(_function, kind):
    for name, known in about(kind).items():
        assert len(known.says) > 8, name
        is_flag = "bool" in str(inspect.signature(kind).parameters[name].annotation)
        assert known.form or is_flag, name
        if name.endswith("_seconds"):
            assert known.form.startswith("seconds"), name
        if name.endswith("_bytes"):
            assert known.form == "bytes", name


@dataclass(frozen=True)
class Game(Options):
    by_position: ClassVar[tuple[str, ...]] = ("name",)

    name: str = option("chess", "of the game", form="text")
    _: KW_ONLY
    rounds: int = option(3, "rounds of it", accept.count, form="rounds", elsewhere="turns")
    allow_help: bool = option(False, "whether others may help", accept.flag)

    def check_together(self) -> None:
        super().check_together()
        if self.name == "dice" and self.rounds > 5:
            raise ConfigurationError("rounds: dice has five at most")


@dataclass(frozen=True, kw_only=True)
class Tournament(Game):
    rounds: int = same_as(Game, "rounds", default=7)
    #: Not an option.
    referee: Any = None


class Player:
    @taking(Game)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.options = Game.of("Player", arguments, keywords)


def test_arguments_by_position_and_by_name():
    assert Player("go", rounds=2).options == Game("go", rounds=2)
    assert Player("go").options.given == {"name"}
    assert Player(rounds=3).options.given == {"rounds"}
    assert str(inspect.signature(Player)) == (
        "(name: 'str' = 'chess', *, rounds: 'int' = 3, allow_help: 'bool' = False)"
    )


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        (
            ("go", 3),
            {},
            "Player was passed 2 arguments by position but takes 1: pass the others by name",
        ),
        (("go",), {"name": "go"}, "Player: name was passed by position and by name"),
        ((), {"rounds": 0}, "rounds=0: pass a whole number above 0"),
        ((), {"roundz": 1}, "Player has no parameter 'roundz'; did you mean 'rounds'?"),
        ((), {"turns": 1}, "Player has no parameter 'turns'; did you mean 'rounds'?"),
        ((), {"help": 1}, "Player has no parameter 'help'; known are: allow_help, name, rounds"),
        ((), {"name": "dice", "rounds": 6}, "rounds: dice has five at most"),
    ],
)
def test_what_cannot_work_is_named(arguments, keywords, words):
    with pytest.raises((ConfigurationError, ConfigurationTypeError)) as caught:
        Player(*arguments, **keywords)
    assert str(caught.value) == words


def test_option_of_another_class_has_its_check_and_another_default():
    assert Tournament().rounds == 7
    assert list(about(Tournament)) == ["name", "rounds", "allow_help"]
    with pytest.raises(ConfigurationError, match=r"^rounds='two'"):
        Tournament(rounds="two")  # type: ignore[arg-type]
    assert part_of(Tournament("go", referee=3), Game) == Game("go", rounds=7)


def test_options_do_not_change_and_a_copy_is_checked():
    game = Game()
    with pytest.raises(FrozenInstanceError):
        game.rounds = 5  # type: ignore[misc]
    with pytest.raises(ConfigurationError, match=r"^rounds=-1"):
        replace(game, rounds=-1)


@pytest.mark.parametrize(("least", "bound"), [(0, "of at least 0"), (1, "above 0")])
def test_whole_number_below_its_bound_is_refused_with_the_bound(least, bound):
    assert accept.whole(least)("size", least) == least
    with pytest.raises(ConfigurationError, match=f"pass a whole number {bound}$"):
        accept.whole(least)("size", least - 1)

"""Every node of the grammar has a rule: it is allowed by name, or refused by its name."""

from __future__ import annotations

import ast
import contextlib
import sys

import pytest
from case_harness import all_cases

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter, policy
from smolagents_fork.interpreter.guarded.compiling import program

#: Nodes that the parser makes of no program: other modes of parsing, and names of old Pythons.
NEVER_PARSED = frozenset(
    {
        *("Interactive", "FunctionType", "TypeIgnore", "Suite", "Param", "AugLoad", "AugStore"),
        *("Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "slice"),
    }
)
#: Nodes of later Pythons than 3.10, all of which policy must know before it runs on one.
LATER = {
    "TryStar": (3, 11),
    **dict.fromkeys(("TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple"), (3, 12)),
    **dict.fromkeys(("TemplateStr", "Interpolation"), (3, 14)),
}


def concrete(kind: type) -> set[type]:
    below = kind.__subclasses__()
    return {kind} if not below else set().union(*map(concrete, below))


#: Every class of node that this Python has.
NODES = {kind for kind in concrete(ast.AST) if kind.__module__ in ("ast", "_ast")}


def test_every_node_of_this_python_has_a_rule() -> None:
    unknown = {kind.__name__ for kind in NODES - policy.ALLOWED_NODES} - NEVER_PARSED
    assert not unknown, f"new in Python {sys.version_info[:2]}: decide about {sorted(unknown)}"


def test_nodes_of_every_supported_python_are_known() -> None:
    for name, since in LATER.items():
        assert name in policy._NODE_NAMES
        assert hasattr(ast, name) == (sys.version_info >= since)


def test_what_is_never_parsed_is_not_allowed() -> None:
    assert not {kind.__name__ for kind in policy.ALLOWED_NODES} & NEVER_PARSED


def test_every_allowed_node_is_in_a_program_that_is_compared_with_cpython() -> None:
    seen: set[type] = set()
    for case in all_cases():
        if not case.skip_reason():
            with contextlib.suppress(SyntaxError):  # some are about that
                seen |= {type(node) for node in ast.walk(ast.parse(case.code))}
    # Expression is a mode of parsing, which the interpreter uses itself.
    missing = policy.ALLOWED_NODES - seen - {ast.Expression}
    assert not missing, sorted(kind.__name__ for kind in missing)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("While", "while False: pass"),
        ("Lambda", "lambda: 0"),
        ("MatchStar", "match []:\n    case [*_]: pass"),
        ("Slice", "[][:]"),
        ("MatMult", "0 @ 0"),
        ("RShift", "x = 1\nx >>= 1"),
    ],
)
def test_a_node_without_a_rule_is_refused_by_its_name(
    name: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later Python's node would be: nothing is let through for being unknown."""
    allowed = policy.ALLOWED_NODES - {getattr(ast, name)}
    monkeypatch.setattr(policy, "ALLOWED_NODES", allowed)
    program._cache.clear()
    with pytest.raises(ProgramRefusedError, match=f"{name} is not supported"):
        Interpreter().run(f"{code}  # {name}")
    program._cache.clear()

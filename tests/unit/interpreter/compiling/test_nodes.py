"""Every node of the grammar has a rule: it is allowed by name, or refused by its name."""

from __future__ import annotations

import ast
import contextlib
import re
import sys

import pytest
from case_harness import all_cases

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter, policy
from smolagents_fork.interpreter.guarded.compiling.ast_builders import check_nodes

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
    unknown = {kind.__name__ for kind in NODES - policy.NODES.keys()} - NEVER_PARSED
    assert not unknown, f"new in Python {sys.version_info[:2]}: decide about {sorted(unknown)}"


def test_nodes_of_every_supported_python_are_known() -> None:
    for name, since in LATER.items():
        assert re.search(rf"\b{name}\b", policy._NODE_TABLE)
        assert hasattr(ast, name) == (sys.version_info >= since)


def test_what_is_never_parsed_is_not_allowed() -> None:
    assert not {kind.__name__ for kind in policy.NODES} & NEVER_PARSED


def test_every_allowed_node_is_in_a_program_that_is_compared_with_cpython() -> None:
    seen: set[type] = set()
    for case in all_cases():
        if not case.skip_reason():
            with contextlib.suppress(SyntaxError):  # some are about that
                seen |= {type(node) for node in ast.walk(ast.parse(case.code))}
    # Expression is a mode of parsing, which the interpreter uses itself.
    missing = policy.NODES.keys() - seen - {ast.Expression}
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
    monkeypatch.delitem(policy.NODES, getattr(ast, name))
    with pytest.raises(ProgramRefusedError, match=f"{name} is not supported"):
        Interpreter().run(f"{code}  # {name}")


def node_class(name: str, *fields: str) -> type[ast.AST]:
    """A node class as another Python's, with fields of its own."""
    return type(name, (getattr(ast, name),), {"_fields": fields})


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("Import", ("names", "is_lazy")),
        ("ImportFrom", ("module", "names", "level", "is_lazy")),
        ("While", ("test", "body")),
        ("Pass", ("label",)),
        ("BinOp", ("right", "op", "left")),
    ],
)
def test_class_with_other_fields_than_those_of_the_table_has_no_rule(
    name: str, fields: tuple[str, ...]
) -> None:
    assert policy.known_nodes({name: getattr(ast, name)})
    assert not policy.known_nodes({name: node_class(name, *fields)})


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("FunctionDef", ("name", "args", "body", "decorator_list", "returns", "type_comment")),
        ("ClassDef", ("name", "bases", "keywords", "body", "decorator_list", "type_params")),
    ],
)
def test_fields_of_every_supported_python_have_a_rule(name: str, fields: tuple[str, ...]) -> None:
    assert policy.known_nodes({name: node_class(name, *fields)})


def test_statement_with_a_new_field_is_refused_by_its_name() -> None:
    """As Python 3.15's lazy import would be, and not run as the import it is not."""
    lazy = node_class("Import", "names", "is_lazy")
    tree = ast.parse("x = 1\nimport math")
    tree.body[1] = lazy(names=[ast.alias("math")], is_lazy=1, lineno=2, col_offset=0)
    with pytest.raises(ProgramRefusedError, match=r"^Import is not supported\. \(line 2\)$"):
        check_nodes(tree)


def test_node_without_a_part_that_it_always_had_is_refused() -> None:
    """As Python 3.15's {**x for x in y} would be."""
    tree = ast.parse("{x: x for x in ()}", mode="eval")
    tree.body.value = None  # type: ignore[attr-defined]
    words = r"^DictComp without value is not supported\. \(line 1\)$"
    with pytest.raises(ProgramRefusedError, match=words):
        check_nodes(tree)

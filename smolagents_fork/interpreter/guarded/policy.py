"""Policy of the interpreter: data only, each set with its reason.

Default deny: a node type, a dunder, a builtin or a module that is not named here is refused. The
rewriter and the guards apply it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "ALLOWED_DUNDERS",
    "ALLOWED_DUNDER_NAMES",
    "ALLOWED_UNDERSCORE",
    "BY_NAME_DUNDERS",
    "CALLED_ONLY",
    "FORMATS",
    "GUARDED_ATTRIBUTES",
    "GUARDED_DUNDERS",
    "HARMLESS_BUILTINS",
    "NODES",
    "ONE_DIGIT",
    "REFUSED_BUILTINS",
    "SIZED_METHODS",
    "WRITABLE_DUNDERS",
    "NodeRule",
    "is_dunder",
    "is_plain",
    "known_nodes",
]

#: Syntax a program may be made of, and all that is known of each node: its fields in the grammar of
#: every supported Python. ``.field`` contains no nodes that anything asks about, ``field?`` may be
#: missing from a tree, and ``field+`` exists from a later Python on only.
_NODE_TABLE = """
    Add And BitAnd BitOr BitXor Break Continue Del Div Eq FloorDiv Gt GtE In Invert Is IsNot LShift
    Load Lt LtE MatMult Mod Mult Not NotEq NotIn Or Pass Pow RShift Store Sub UAdd USub
    AnnAssign: target annotation value? .simple
    Assert: test msg?
    Assign: targets value .type_comment
    AsyncFor: target iter body orelse .type_comment
    AsyncFunctionDef: .name args body decorator_list returns? .type_comment type_params+
    AsyncWith: items body .type_comment
    Attribute: value .attr .ctx
    AugAssign: target op value
    Await: value
    BinOp: left op right
    BoolOp: op values
    Call: func args keywords
    ClassDef: .name bases keywords body decorator_list type_params+
    Compare: left ops comparators
    Constant: .value .kind
    Delete: targets
    Dict: keys values
    DictComp: key value generators
    ExceptHandler: type? .name body
    Expr: value
    Expression: body
    For: target iter body orelse .type_comment
    FormattedValue: value .conversion format_spec?
    FunctionDef: .name args body decorator_list returns? .type_comment type_params+
    GeneratorExp: elt generators
    Global: .names
    If: test body orelse
    IfExp: test body orelse
    Import: names
    ImportFrom: .module names .level
    Interpolation: value .str .conversion format_spec?
    JoinedStr: values
    Lambda: args body
    List: elts .ctx
    ListComp: elt generators
    Match: subject cases
    MatchAs: pattern? .name
    MatchClass: cls patterns .kwd_attrs kwd_patterns
    MatchMapping: keys patterns .rest
    MatchOr: patterns
    MatchSequence: patterns
    MatchSingleton: .value
    MatchStar: .name
    MatchValue: value
    Module: body .type_ignores
    Name: .id .ctx
    NamedExpr: target value
    Nonlocal: .names
    ParamSpec: .name default_value?+
    Raise: exc? cause?
    Return: value?
    Set: elts
    SetComp: elt generators
    Slice: lower? upper? step?
    Starred: value .ctx
    Subscript: value slice .ctx
    TemplateStr: values
    Try: body handlers orelse finalbody
    TryStar: body handlers orelse finalbody
    Tuple: elts .ctx
    TypeAlias: name type_params value
    TypeVar: .name bound? default_value?+
    TypeVarTuple: .name default_value?+
    UnaryOp: op operand
    While: test body orelse
    With: items body .type_comment
    Yield: value?
    YieldFrom: value
    alias: .name .asname
    arg: .arg annotation? .type_comment
    arguments: posonlyargs args vararg? kwonlyargs kw_defaults kwarg? defaults
    comprehension: target iter ifs .is_async
    keyword: .arg value
    match_case: pattern guard? body
    withitem: context_expr optional_vars?
    """


class NodeRule(NamedTuple):
    """The fields of a node that contain nodes, and those of them that are always there."""

    parts: tuple[str, ...]
    required: tuple[str, ...]


def known_nodes(classes: Mapping[str, Any]) -> dict[type[ast.AST], NodeRule]:
    """Return the rule of each class that has the fields of the table and no other.

    Args:
        classes: node classes of a Python, by name.
    """
    rules = {}
    for line in _NODE_TABLE.strip().splitlines():
        names, _, text = line.partition(":")
        marked = text.split()
        plain = [field.strip(".?+") for field in marked]
        for cls in (classes[name] for name in names.split() if name in classes):
            expected = [
                p for p, m in zip(plain, marked, strict=True) if p in cls._fields or m[-1] != "+"
            ]
            if expected == list(cls._fields):
                parts = {
                    p: m
                    for p, m in zip(plain, marked, strict=True)
                    if m[0] != "." and p in cls._fields
                }
                required = tuple(part for part, mark in parts.items() if "?" not in mark)
                rules[cls] = NodeRule(tuple(parts), required)
    return rules


#: Nodes of this Python that a program may be made of, by class.
NODES = known_nodes(vars(ast))

_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()

#: Dunders that read or write by the name that they are given.
BY_NAME_DUNDERS = frozenset("__delattr__ __getattribute__ __getattr__ __setattr__".split())

#: Dunders that are handed out for what the program made only: they describe a class's family, an
#: object's namespace, or lead to what a wrapper or a method is made of.
GUARDED_DUNDERS = BY_NAME_DUNDERS | frozenset(
    """
    __base__ __bases__ __class__ __defaults__ __dict__ __func__ __getstate__ __kwdefaults__ __mro__
    __self__ __subclasses__ __wrapped__
    """.split()
)

#: Dunder attributes a program may read on anything: each runs or describes an object's own protocol
#: and hands out no namespace, frame or code of the host.
ALLOWED_DUNDERS = (
    frozenset(
        """
        __abs__ __abstractmethods__ __aenter__ __aexit__ __aiter__ __all__ __anext__ __annotations__
        __args__ __await__ __basicsize__ __bool__ __bound__ __buffer__ __bytes__ __call__ __cause__
        __ceil__ __class_getitem__ __complex__ __concat__ __constraints__ __contains__ __context__
        __contravariant__ __copy__ __covariant__ __dataclass_fields__ __dataclass_params__
        __dataclass_transform__ __deepcopy__ __default__ __del__ __delete__ __delitem__ __doc__
        __enter__ __eq__ __excepthook__ __exit__ __final__ __firstlineno__ __flags__ __float__
        __floor__ __format__ __fspath__ __ge__ __get__ __getitem__ __gt__ __hash__ __index__
        __infer_variance__ __init__ __init_subclass__ __instancecheck__ __int__ __invert__
        __isabstractmethod__ __itemsize__ __iter__ __le__ __len__ __length_hint__ __lt__
        __match_args__ __members__ __metadata__ __missing__ __module__ __mro_entries__ __name__
        __ne__ __neg__ __new__ __next__ __no_type_check__ __notes__ __objclass__ __optional_keys__
        __orig_bases__ __orig_class__ __origin__ __parameters__ __pos__ __post_init__ __prepare__
        __qualname__ __replace__ __repr__ __required_keys__ __reversed__ __round__ __self_class__
        __set__ __set_name__ __setitem__ __setstate__ __sizeof__ __slots__ __static_attributes__
        __str__ __subclasscheck__ __subclasshook__ __supertype__ __suppress_context__
        __text_signature__ __thisclass__ __total__ __trunc__ __type_params__
        __typing_is_unpacked_typevartuple__ __typing_subst__ __typing_unpacked_tuple_args__
        __unpacked__ __value__ __version__ __weakref__
        """.split()
    )
    | frozenset(f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i"))
) - GUARDED_DUNDERS

#: Dunder attributes a program may set on classes, functions and objects of its own. Not
#: __match_args__, which names attributes: a class body may give it, and a pattern has it looked at.
WRITABLE_DUNDERS = (ALLOWED_DUNDERS | GUARDED_DUNDERS) - frozenset(
    """
    __base__ __bases__ __class__ __func__ __match_args__ __mro__ __objclass__ __self__
    __self_class__ __subclasses__ __thisclass__
    """.split()
)

#: Dunder names a program may load or bind as variables.
ALLOWED_DUNDER_NAMES = frozenset(
    """
    __all__ __annotations__ __author__ __class__ __copyright__ __date__ __debug__ __doc__
    __email__ __file__ __firstlineno__ __hash__ __license__ __match_args__ __module__
    __name__ __qualname__ __slots__ __static_attributes__ __test__ __version__
    """.split()
)

#: Public names that lead out of ordinary objects: frames, tracebacks, code and namespaces of
#: functions.
GUARDED_ATTRIBUTES = frozenset(
    """
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await
    tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_generator f_globals f_locals
    f_lasti f_lineno f_trace co_code co_consts co_names func_globals func_code func_closure
    get_coro get_stack
    """.split()
)

#: Functions that are refused as values where their module is authorised, and run when called:
#: upstream's rule.
CALLED_ONLY = frozenset({"popen", "system"})

#: Methods whose result can be far larger than what they are given; see guards/sizes.py.
SIZED_METHODS = frozenset("center expandtabs join ljust replace rjust to_bytes zfill".split())

#: Methods that read attributes by name; see guards/text_format.py.
FORMATS = frozenset({"format", "format_map"})

#: Integer factors below this, in amount, add little; CPython compares one of one digit in one step.
ONE_DIGIT = (1 << 30) - 1

#: Single-underscore names that are public interface of the standard library's classes.
ALLOWED_UNDERSCORE = frozenset(
    """
    _all_bits_ _asdict _boundary_ _field_defaults _fields _flag_mask_ _generate_next_value_
    _ignore_ _inverted_ _make _member_map_ _member_names_ _member_type_ _missing_ _name_
    _order_ _replace _singles_mask_ _sunder_ _use_args_ _value2member_map_ _value_ _value_repr_
    """.split()
)

#: Builtins that neither reach attributes by name nor use much more than they are given.
HARMLESS_BUILTINS = tuple(
    """
    abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex
    dict divmod enumerate filter float format frozenset hash hex id int isinstance issubclass iter
    len list map max memoryview min next object oct ord property range repr reversed round
    set slice sorted staticmethod str sum super tuple type zip None True False Ellipsis
    NotImplemented
    """.split()
)

#: Builtins that are refused, with what to do instead.
REFUSED_BUILTINS = {
    "open": (
        "files are out of reach here; take the data as a variable or through a tool. "
        "To allow it, the agent's author can pass executor_kwargs={'files': {}}"
    ),
    "exec": "write the code out instead",
    "eval": "write the expression out, or use ast.literal_eval with 'ast' authorised",
    "compile": "write the code out instead",
    "__import__": "use an import statement",
    "globals": "use plain variables, or a dict of your own",
    "locals": "use plain variables, or a dict of your own",
    "input": "nobody can answer; take the value as a variable or through a tool",
    "breakpoint": "use print() to look at values",
    "exit": "let the program end, or call final_answer()",
    "quit": "let the program end, or call final_answer()",
}


def is_dunder(name: str) -> bool:
    """Tell whether a name is one of Python's own."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_plain(name: str) -> bool:
    """Tell whether an attribute of this name, a plain ``str``, is read as CPython reads it."""
    return name not in GUARDED_ATTRIBUTES and name[:1] != "_" and name.isascii()

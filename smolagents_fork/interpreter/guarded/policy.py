"""Policy of the interpreter: data only, each set with its reason.

Default deny: a node type, a dunder, a builtin or a module that is not named here is refused. The
rewriter and the guards apply it.
"""

from __future__ import annotations

import ast

__all__ = [
    "ALLOWED_DUNDERS",
    "ALLOWED_DUNDER_NAMES",
    "ALLOWED_NODES",
    "ALLOWED_UNDERSCORE",
    "BY_NAME_DUNDERS",
    "CALLED_ONLY",
    "CONSUMERS",
    "GUARDED_ATTRIBUTES",
    "GUARDED_DUNDERS",
    "HARMLESS_BUILTINS",
    "IMPORTED_BY_C",
    "OF_THE_SCOPE",
    "OWN_DUNDERS",
    "REFUSED_BUILTINS",
    "SIZED_METHODS",
    "WRITABLE_DUNDERS",
    "is_dunder",
    "is_plain",
]

#: Syntax a program may be made of. Some exists from a later Python on only.
_NODE_NAMES = """
    Add And AnnAssign Assert Assign AsyncFor AsyncFunctionDef AsyncWith Attribute AugAssign
    Await BinOp BitAnd BitOr BitXor BoolOp Break Call ClassDef Compare Constant Continue Del
    Delete Dict DictComp Div Eq ExceptHandler Expr Expression FloorDiv For FormattedValue
    FunctionDef GeneratorExp Global Gt GtE If IfExp Import ImportFrom In Interpolation Invert Is
    IsNot JoinedStr LShift Lambda List ListComp Load Lt LtE MatMult Match MatchAs MatchClass
    MatchMapping MatchOr MatchSequence MatchSingleton MatchStar MatchValue Mod Module Mult Name
    NamedExpr Nonlocal Not NotEq NotIn Or ParamSpec Pass Pow RShift Raise Return Set SetComp
    Slice Starred Store Sub Subscript TemplateStr Try TryStar Tuple TypeAlias TypeVar
    TypeVarTuple UAdd USub UnaryOp While With Yield YieldFrom alias arg arguments comprehension
    keyword match_case withitem
    """.split()
ALLOWED_NODES = frozenset(getattr(ast, name) for name in _NODE_NAMES if hasattr(ast, name))

_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()

#: Dunders that describe a class's family or an object's namespace: handed out for what the program
#: made only.
OWN_DUNDERS = frozenset("__base__ __bases__ __dict__ __mro__ __subclasses__".split())

#: Dunders that read, write or make by what they are given.
BY_NAME_DUNDERS = frozenset("__delattr__ __getattribute__ __getattr__ __new__ __setattr__".split())

#: Dunders whose answer depends on the object: the attribute guard decides.
GUARDED_DUNDERS = (
    OWN_DUNDERS
    | BY_NAME_DUNDERS
    | frozenset(
        "__class__ __defaults__ __func__ __getstate__ __kwdefaults__ __self__ __wrapped__".split()
    )
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
        __ne__ __neg__ __next__ __no_type_check__ __notes__ __objclass__ __optional_keys__
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
#: functions; the object of an AttributeError; and ``str.format``, which reads by name.
GUARDED_ATTRIBUTES = frozenset(
    """
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await
    tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_generator f_globals f_locals
    f_lasti f_lineno f_trace co_code co_consts co_names func_globals func_code func_closure
    format format_map get_coro get_stack obj
    """.split()
)

#: Functions that are refused as values where their module is authorised, and run when called:
#: upstream's rule.
CALLED_ONLY = frozenset({"popen", "system"})

#: Methods whose result can be far larger than what they are given; see guards/sizes.py.
SIZED_METHODS = frozenset("center expandtabs join ljust replace rjust to_bytes zfill".split())

#: Builtins that go over what they are given in C: a long range among their arguments is metered.
CONSUMERS = frozenset(
    """
    all any bytes bytearray dict enumerate filter frozenset list map max min set sorted sum
    tuple zip
    """.split()
)

#: Single-underscore names that are public interface of the standard library's classes.
ALLOWED_UNDERSCORE = frozenset(
    """
    _all_bits_ _asdict _boundary_ _field_defaults _fields _flag_mask_ _generate_next_value_
    _ignore_ _inverted_ _make _member_map_ _member_names_ _member_type_ _missing_ _name_
    _order_ _replace _singles_mask_ _sunder_ _use_args_ _value2member_map_ _value_ _value_repr_
    """.split()
)

#: Modules that C code of the standard library imports by itself, through the program's builtins.
IMPORTED_BY_C = frozenset(
    """
    __main__ _asyncio _codecs _collections _collections_abc _datetime _decimal _operator _pydatetime
    _pydecimal _strptime asyncio builtins calendar collections contextvars copyreg datetime decimal
    encodings enum functools linecache locale math numbers operator random re string
    stringprep time tokenize traceback types typing unicodedata warnings zoneinfo
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

#: Builtins that, called without an argument, give the names of the scope around.
OF_THE_SCOPE = frozenset({"dir", "locals", "vars"})

#: Builtins that are refused, with what to do instead.
REFUSED_BUILTINS = {
    "open": "files are out of reach here; take the data as a variable or through a tool",
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

_LOOKED_AT = GUARDED_ATTRIBUTES | SIZED_METHODS


def is_dunder(name: str) -> bool:
    """Tell whether a name is one of Python's own."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_plain(name: str) -> bool:
    """Tell whether an attribute of this name, a plain ``str``, is read as CPython reads it."""
    return name not in _LOOKED_AT and name[:1] != "_" and name.isascii()

"""What programs may do: data only. ``transform`` applies it before a run, ``guards`` during one.

Default deny: a node type, a dunder, a builtin or a module that is not named here is refused.
"""

from __future__ import annotations

import ast

from .build import words
from .policy_data import DATA_ATTRIBUTES

__all__ = [
    "ALLOWED_DUNDERS",
    "ALLOWED_DUNDER_NAMES",
    "ALLOWED_NODES",
    "ALLOWED_UNDERSCORE",
    "DATA_ATTRIBUTES",
    "DEFAULT_IMPORTS",
    "GUARDED_ATTRIBUTES",
    "GUARDED_DUNDERS",
    "IMPORTED_BY_C",
    "KEYED_FUNCTIONS",
    "LIBRARY_ATTRIBUTES",
    "LOOKED_AT",
    "OWN_DUNDERS",
    "OWN_UNDERSCORE",
    "PROXY_ATTRIBUTES",
    "REFUSED_BUILTINS",
    "SIZED_METHODS",
    "SIZED_TYPES",
    "WRITABLE_DUNDERS",
    "is_plain",
]

#: Upstream's BASE_BUILTIN_MODULES.
DEFAULT_IMPORTS = frozenset(
    words(
        """
        collections datetime itertools math queue random re stat statistics time unicodedata
        """
    )
)

#: Syntax a program may be made of. Some exists from a later Python on only: what does not exist
#: cannot occur.
_NODE_NAMES = words(
    """
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
    """
)
ALLOWED_NODES = frozenset(getattr(ast, name) for name in _NODE_NAMES if hasattr(ast, name))

_OPERATORS = words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor")

#: Dunders whose answer depends on the object: the attribute guard decides.
GUARDED_DUNDERS = frozenset(
    words(
        """
        __add__ __annotations__ __base__ __bases__ __dataclass_fields__ __deepcopy__ __defaults__
        __delattr__ __delete__ __dict__ __format__ __getattr__ __getattribute__ __iadd__ __imul__
        __init__ __init_subclass__ __kwdefaults__ __lshift__ __mod__ __mro__ __mul__ __new__
        __pow__ __prepare__ __radd__ __rlshift__ __rmod__ __rmul__ __rpow__ __set__ __setattr__
        __slots__ __subclasses__ __wrapped__
        """
    )
)

#: Dunder attributes a program may read on anything: each runs or describes an object's own protocol
#: and hands out no class, namespace, frame, code or function of the host.
ALLOWED_DUNDERS = (
    frozenset(
        words(
            """
            __abs__ __abstractmethods__ __aenter__ __aexit__ __aiter__ __anext__ __args__
            __await__ __bool__ __buffer__ __bytes__ __call__ __cause__ __ceil__
            __class_getitem__ __complex__ __contains__ __context__ __copy__ __dataclass_fields__
            __deepcopy__ __del__ __delete__ __delitem__ __doc__ __enter__ __eq__ __exit__
            __float__ __floor__ __fspath__ __ge__ __get__ __getitem__ __gt__ __hash__ __index__
            __init__ __init_subclass__ __instancecheck__ __int__ __invert__ __iter__ __le__
            __len__ __length_hint__ __lt__ __match_args__ __members__ __missing__ __module__
            __name__ __ne__ __neg__ __next__ __notes__ __optional_keys__ __origin__
            __parameters__ __pos__ __post_init__ __prepare__ __qualname__ __replace__ __repr__
            __required_keys__ __reversed__ __round__ __set__ __set_name__ __setitem__ __sizeof__
            __str__ __subclasscheck__ __suppress_context__ __total__ __trunc__
            __type_params__ __value__ __version__
            """
        )
    )
    | frozenset(f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i"))
) - GUARDED_DUNDERS

#: Those of them that describe a class's family or an object's namespace: the program's own only.
OWN_DUNDERS = frozenset(words("__base__ __bases__ __dict__ __mro__ __subclasses__"))

#: Dunder attributes a program may set on classes, functions and objects of its own. Not
#: __match_args__, which names attributes: a class body may say it, and a pattern has it looked at.
WRITABLE_DUNDERS = (ALLOWED_DUNDERS | GUARDED_DUNDERS) - {
    *words("__base__ __bases__ __match_args__ __mro__ __subclasses__")
}

#: Dunder names a program may load or bind as variables.
ALLOWED_DUNDER_NAMES = frozenset(
    words(
        """
        __all__ __annotations__ __author__ __class__ __copyright__ __date__ __debug__ __doc__
        __email__ __file__ __firstlineno__ __hash__ __license__ __match_args__ __module__
        __name__ __qualname__ __slots__ __static_attributes__ __test__ __version__
        """
    )
)

#: Public names that lead out of ordinary objects, or whose one call can exhaust the process: read
#: through the attribute guard. Everything else public is read as CPython reads it, which is safe
#: because no object a program can reach keeps anything dangerous under such a name
#: (tests/unit/interpreter/test_reachable.py walks them all).
GUARDED_ATTRIBUTES = frozenset(
    {
        # frames, tracebacks, code, generators
        *words(
            """
            gi_frame gi_code gi_yieldfrom gi_running gi_suspended cr_frame cr_code cr_await
            cr_origin cr_running cr_suspended ag_frame ag_code ag_await ag_running ag_suspended
            tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_globals f_locals
            f_lasti f_lineno f_trace co_code co_consts co_names func_globals func_code
            func_closure func_defaults func_dict im_func im_self
            """
        ),
        # attributes by name
        *words(
            """
            format format_map vformat get_field get_value attrgetter methodcaller
            """
        ),
        # ABCs of the host; typing.ForwardRef.evaluate (3.14), which runs text; classes behind
        # the guarded ones of random and queue
        *words(
            """
            register evaluate mro
            """
        ),
        # AttributeError.obj of an error raised in the host's code
        *words(
            """
            obj with_traceback
            """
        ),
        # what only a raw module, process or loader has: should one leak, it leads nowhere
        *words(
            """
            system popen modules environ environb getenv putenv import_module Popen check_output
            check_call execv execve execl execvp spawnv spawnl fork forkpty posix_spawn
            find_spec find_loader load_module exec_module loader meta_path path_hooks settrace
            setprofile _getframe
            """
        ),
        # numpy and pandas: memory by address, files, code in strings
        *words(
            """
            ctypes data_as dump dumps tofile fromfile memmap f2py ctypeslib distutils query eval
            to_pickle read_pickle to_sql read_sql genfromtxt loadtxt DataSource open_memmap
            set_string_function lib core testing to_csv to_json to_excel to_parquet to_html
            to_latex to_markdown to_feather to_hdf to_stata to_xml to_orc to_string to_clipboard
            to_gbq to_iceberg to_typst
            """
        ),
        # queue.Queue: waits without end
        *words(
            """
            mutex not_empty not_full all_tasks_done
            """
        ),
        # asyncio: frames of tasks; threads, processes, connections and signals of loops
        *words(
            """
            get_stack print_stack get_coro get_context run_in_executor subprocess_exec
            subprocess_shell
            create_connection create_server create_unix_connection create_unix_server
            create_datagram_endpoint connect_read_pipe connect_write_pipe
            connect_accepted_socket add_signal_handler remove_signal_handler add_reader
            add_writer sock_connect sock_recv sock_sendall sock_accept getaddrinfo getnameinfo
            start_tls sendfile set_default_executor set_task_factory set_exception_handler
            call_exception_handler run_forever run_until_complete shutdown_default_executor
            """
        ),
    }
)

#: Those of them that are ordinary on objects of other libraries, which have no rules here:
#: ``image.format``, ``model.eval()``, ``connection.query(...)``.
LIBRARY_ATTRIBUTES = frozenset(
    words("dump dumps eval evaluate format modules obj query register ")
) | {name for name in GUARDED_ATTRIBUTES if name.startswith("to_")}

#: Names of read-only views (``mappingproxy``) of a dict that an object of the host keeps. Such a
#: view hands the dict itself to ``__eq__`` and ``__ror__`` of what it is compared or joined with:
#: a program gets views of copies. ``groupindex`` of patterns, ``fields`` and ``metadata`` of types
#: of numpy's and of dataclasses' fields; ``__members__`` of enumerations goes the same way.
PROXY_ATTRIBUTES = frozenset({"fields", "groupindex", "metadata"})

#: Methods whose result can be far larger than what they are given, and those that remember what
#: they were called with.
SIZED_METHODS = frozenset(
    words(
        """
        center elements expand expandtabs extend extendleft from_bytes join ljust replace rjust
        sort strptime sub subn to_bytes translate update zfill
        """
    )
)

#: All public names that are read through a guard wherever they are found.
LOOKED_AT = GUARDED_ATTRIBUTES | SIZED_METHODS | DATA_ATTRIBUTES | PROXY_ATTRIBUTES

#: Built-in types that make much out of a small argument,
#: or call a function an item.
SIZED_TYPES = frozenset({"range", "bytes", "bytearray", "map", "filter"})

#: Functions that are guarded when they are given a key.
KEYED_FUNCTIONS = frozenset({"min", "max"})

#: Single-underscore names that are public interface of the standard library's classes.
ALLOWED_UNDERSCORE = frozenset(
    words(
        """
        _asdict _field_defaults _fields _generate_next_value_ _ignore_ _make _member_map_
        _member_names_ _missing_ _name_ _order_ _replace _sunder_ _value2member_map_ _value_
        """
    )
)

#: Those of them that hand out a dict or list, which the program may only have of its own classes.
OWN_UNDERSCORE = frozenset(
    words("_field_defaults _ignore_ _member_map_ _member_names_ _order_ _value2member_map_")
)

#: Modules that C code of the standard library imports by itself, through the program's builtins.
IMPORTED_BY_C = frozenset(
    words(
        """
        _asyncio _collections_abc _datetime _decimal _pydatetime _pydecimal _strptime asyncio
        calendar collections contextvars copyreg datetime decimal encodings enum functools
        linecache locale math numbers operator random re string stringprep time tokenize
        traceback types typing unicodedata warnings zoneinfo
        """
    )
)

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


def is_plain(name: str) -> bool:
    """Whether an attribute of this name, a plain ``str``, is read as CPython reads it."""
    return name not in LOOKED_AT and name[:1] != "_" and name.isascii()

"""What programs may do: data only. ``transform`` applies it before a run, ``guards`` during one.

Default deny: a node type, a dunder, a builtin or a module that is not named here is refused.
"""

from __future__ import annotations

import ast

__all__ = [
    "ALLOWED_DUNDERS",
    "ALLOWED_DUNDER_NAMES",
    "ALLOWED_NODES",
    "ALLOWED_UNDERSCORE",
    "DEFAULT_IMPORTS",
    "GUARDED_ATTRIBUTES",
    "GUARDED_DUNDERS",
    "IMPORTED_BY_C",
    "REFUSED_BUILTINS",
    "SIZED_METHODS",
    "SIZED_TYPES",
    "WRITABLE_DUNDERS",
]

#: Upstream's BASE_BUILTIN_MODULES.
DEFAULT_IMPORTS = frozenset(
    [
        "collections",
        "datetime",
        "itertools",
        "math",
        "queue",
        "random",
        "re",
        "stat",
        "statistics",
        "time",
        "unicodedata",
    ]
)


def _nodes(*names: str) -> frozenset[type]:
    # Some exist from a later Python on only; what does not exist cannot occur.
    return frozenset(getattr(ast, name) for name in names if hasattr(ast, name))


ALLOWED_NODES = _nodes(
    *("Module", "Expression", "Expr", "Pass", "Break", "Continue", "Return", "Delete", "Assign"),
    *("AugAssign", "AnnAssign", "For", "AsyncFor", "While", "If", "With", "AsyncWith", "Match"),
    *("Raise", "Try", "TryStar", "Assert", "Import", "ImportFrom", "Global", "Nonlocal"),
    *("FunctionDef", "AsyncFunctionDef", "ClassDef", "TypeAlias", "TypeVar", "ParamSpec"),
    *("TypeVarTuple", "BoolOp", "NamedExpr", "BinOp", "UnaryOp", "Lambda", "IfExp", "Dict", "Set"),
    *("ListComp", "SetComp", "DictComp", "GeneratorExp", "Await", "Yield", "YieldFrom", "Compare"),
    *("Call", "FormattedValue", "JoinedStr", "TemplateStr", "Interpolation", "Constant"),
    *("Attribute", "Subscript", "Starred", "Name", "List", "Tuple", "Slice"),
    *("Load", "Store", "Del", "And", "Or", "Add", "Sub", "Mult", "MatMult", "Div", "Mod", "Pow"),
    *("LShift", "RShift", "BitOr", "BitXor", "BitAnd", "FloorDiv", "Invert", "Not", "UAdd", "USub"),
    *("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In", "NotIn", "comprehension"),
    *("ExceptHandler", "arguments", "arg", "keyword", "alias", "withitem", "match_case"),
    *("MatchValue", "MatchSingleton", "MatchSequence", "MatchMapping", "MatchClass", "MatchStar"),
    *("MatchAs", "MatchOr"),
)

_OPERATORS = [
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
]

#: Dunder attributes a program may read on anything: each runs or describes an object's own protocol
#: and hands out no class, namespace, frame, code or function of the host.
ALLOWED_DUNDERS = frozenset(
    {
        *[
            "__init__",
            "__new__",
            "__del__",
            "__repr__",
            "__str__",
            "__bytes__",
            "__hash__",
            "__bool__",
            "__len__",
        ],
        *[
            "__lt__",
            "__le__",
            "__eq__",
            "__ne__",
            "__gt__",
            "__ge__",
            "__call__",
            "__iter__",
            "__next__",
        ],
        *[
            "__getitem__",
            "__setitem__",
            "__delitem__",
            "__missing__",
            "__reversed__",
            "__contains__",
        ],
        *[
            "__length_hint__",
            "__enter__",
            "__exit__",
            "__aenter__",
            "__aexit__",
            "__await__",
            "__aiter__",
        ],
        *[
            "__anext__",
            "__neg__",
            "__pos__",
            "__abs__",
            "__invert__",
            "__complex__",
            "__int__",
            "__float__",
        ],
        *[
            "__index__",
            "__round__",
            "__trunc__",
            "__floor__",
            "__ceil__",
            "__post_init__",
            "__copy__",
        ],
        *[
            "__deepcopy__",
            "__set_name__",
            "__init_subclass__",
            "__class_getitem__",
            "__instancecheck__",
        ],
        *[
            "__subclasscheck__",
            "__get__",
            "__set__",
            "__delete__",
            "__name__",
            "__qualname__",
            "__doc__",
        ],
        *["__module__", "__members__", "__match_args__", "__cause__", "__context__", "__notes__"],
        *["__suppress_context__", "__slots__", "__dataclass_fields__", "__sizeof__"],
        *["__iadd__", "__origin__", "__args__", "__parameters__", "__version__", "__total__"],
        *["__required_keys__", "__optional_keys__", "__abstractmethods__", "__value__"],
        *["__type_params__", "__prepare__", "__fspath__", "__buffer__", "__replace__"],
        *(f"__{p}{o}__" for o in _OPERATORS for p in ("", "r", "i")),
    }
)

#: Dunders whose answer depends on the object: the attribute guard decides.
GUARDED_DUNDERS = frozenset(
    [
        "__annotations__",
        "__wrapped__",
        "__getattribute__",
        "__getattr__",
        "__setattr__",
        "__delattr__",
        "__format__",
        "__defaults__",
        "__kwdefaults__",
        "__mul__",
        "__rmul__",
        "__imul__",
        "__pow__",
        "__rpow__",
        "__lshift__",
        "__rlshift__",
        "__mod__",
        "__rmod__",
        "__traceback__",
        "__class__",
    ]
) - {"__traceback__", "__class__"}
ALLOWED_DUNDERS = ALLOWED_DUNDERS - GUARDED_DUNDERS

#: Dunder attributes a program may set on classes, functions and objects of its own. Not
#: __match_args__, which names attributes: a class body may say it, where it is looked at.
WRITABLE_DUNDERS = (ALLOWED_DUNDERS | GUARDED_DUNDERS) - {"__match_args__"}

#: Dunder names a program may load or bind as variables.
ALLOWED_DUNDER_NAMES = frozenset(
    [
        "__name__",
        "__doc__",
        "__debug__",
        "__class__",
        "__all__",
        "__version__",
        "__author__",
        "__module__",
        "__qualname__",
        "__slots__",
        "__match_args__",
        "__hash__",
        "__file__",
        "__test__",
        "__annotations__",
        "__static_attributes__",
        "__firstlineno__",
        "__license__",
        "__date__",
        "__copyright__",
        "__email__",
    ]
)

#: Public names that lead out of ordinary objects, or whose one call can exhaust the process: read
#: through the attribute guard. Everything else public is read as CPython reads it, which is safe
#: because no object a program can reach keeps anything dangerous under such a name
#: (tests/unit/interpreter/test_reachable.py walks them all).
GUARDED_ATTRIBUTES = frozenset(
    {
        # frames, tracebacks, code, generators
        *[
            "gi_frame",
            "gi_code",
            "gi_yieldfrom",
            "gi_running",
            "gi_suspended",
            "cr_frame",
            "cr_code",
        ],
        *["cr_await", "cr_origin", "cr_running", "cr_suspended", "ag_frame", "ag_code", "ag_await"],
        *[
            "ag_running",
            "ag_suspended",
            "tb_frame",
            "tb_next",
            "tb_lasti",
            "tb_lineno",
            "f_back",
            "f_builtins",
        ],
        *[
            "f_code",
            "f_globals",
            "f_locals",
            "f_lasti",
            "f_lineno",
            "f_trace",
            "co_code",
            "co_consts",
        ],
        *[
            "co_names",
            "func_globals",
            "func_code",
            "func_closure",
            "func_defaults",
            "im_func",
            "im_self",
        ],
        # attributes by name
        *[
            "format",
            "format_map",
            "vformat",
            "get_field",
            "get_value",
            "attrgetter",
            "methodcaller",
        ],
        # AttributeError.obj and ImportError.path of an error raised inside the host's code
        *["obj", "with_traceback"],
        # what only a raw module, process or loader has: should one leak, it leads nowhere
        *["system", "popen", "modules", "environ", "environb", "getenv", "putenv", "import_module"],
        *[
            "Popen",
            "check_output",
            "check_call",
            "execv",
            "execve",
            "execl",
            "execvp",
            "spawnv",
            "spawnl",
        ],
        *[
            "fork",
            "forkpty",
            "posix_spawn",
            "find_spec",
            "find_loader",
            "load_module",
            "exec_module",
        ],
        *["loader", "meta_path", "path_hooks", "settrace", "setprofile", "_getframe"],
        # numpy and pandas: memory by address, files, code in strings
        *[
            "ctypes",
            "data_as",
            "dump",
            "dumps",
            "tofile",
            "fromfile",
            "memmap",
            "f2py",
            "ctypeslib",
            "distutils",
        ],
        *[
            "query",
            "eval",
            "to_pickle",
            "read_pickle",
            "to_sql",
            "read_sql",
            "genfromtxt",
            "loadtxt",
        ],
        *["DataSource", "open_memmap", "set_string_function", "lib", "core", "testing"],
        # queue.Queue: waits without end
        *["mutex", "not_empty", "not_full", "all_tasks_done"],
        # asyncio: frames of tasks; threads, processes, connections and signals of loops
        *[
            "get_stack",
            "print_stack",
            "get_coro",
            "run_in_executor",
            "subprocess_exec",
            "subprocess_shell",
        ],
        *["create_connection", "create_server", "create_unix_connection", "create_unix_server"],
        *[
            "create_datagram_endpoint",
            "connect_read_pipe",
            "connect_write_pipe",
            "connect_accepted_socket",
        ],
        *[
            "add_signal_handler",
            "remove_signal_handler",
            "add_reader",
            "add_writer",
            "sock_connect",
        ],
        *[
            "sock_recv",
            "sock_sendall",
            "sock_accept",
            "getaddrinfo",
            "getnameinfo",
            "start_tls",
            "sendfile",
        ],
        *[
            "set_default_executor",
            "set_task_factory",
            "set_exception_handler",
            "call_exception_handler",
        ],
        *["run_forever", "run_until_complete", "shutdown_default_executor"],
        # pandas: files
        *[
            "to_csv",
            "to_json",
            "to_excel",
            "to_parquet",
            "to_html",
            "to_latex",
            "to_markdown",
            "to_feather",
        ],
        *["to_hdf", "to_stata", "to_xml", "to_orc", "to_string", "to_clipboard", "to_gbq"],
    }
)

#: Methods of strings, bytes and integers whose result can be far larger than what they are given.
SIZED_METHODS = frozenset(
    [
        "ljust",
        "rjust",
        "center",
        "zfill",
        "expandtabs",
        "replace",
        "join",
        "translate",
        "to_bytes",
        "from_bytes",
        "extend",
        "extendleft",
        "update",
        "sub",
        "subn",
        "expand",
        "elements",
    ]
)

#: Built-in types that make much out of a small argument.
SIZED_TYPES = frozenset({"range", "bytes", "bytearray"})

#: Single-underscore names that are public interface of the standard library's classes.
ALLOWED_UNDERSCORE = frozenset(
    [
        "_fields",
        "_asdict",
        "_replace",
        "_make",
        "_field_defaults",
        "_value_",
        "_name_",
        "_missing_",
        "_ignore_",
        "_order_",
        "_generate_next_value_",
        "_sunder_",
        "_member_map_",
        "_member_names_",
        "_value2member_map_",
    ]
)

#: Modules that C code of the standard library imports by itself, through the program's builtins.
IMPORTED_BY_C = frozenset(
    [
        "_strptime",
        "time",
        "datetime",
        "_datetime",
        "_pydatetime",
        "zoneinfo",
        "decimal",
        "_decimal",
        "_pydecimal",
        "numbers",
        "copyreg",
        "warnings",
        "re",
        "math",
        "operator",
        "random",
        "functools",
        "collections",
        "unicodedata",
        "locale",
        "calendar",
        "stringprep",
        "encodings",
        "traceback",
        "linecache",
        "tokenize",
        "contextvars",
        "asyncio",
        "_asyncio",
        "types",
        "typing",
        "enum",
        "_collections_abc",
        "string",
    ]
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
    "help": "use print() on what you want to know",
    "exit": "let the program end, or call final_answer()",
    "quit": "let the program end, or call final_answer()",
}

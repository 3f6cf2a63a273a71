"""logging, argparse, weakref and inspect are the program's own: they show nothing of the host."""

from __future__ import annotations

import argparse
import atexit
import collections
import inspect
import logging
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter import Interpreter


def run(program: str, *imports: str, **variables: Any) -> tuple[Any, str]:
    interpreter = Interpreter([*imports, "functools"])
    interpreter.send_variables(variables)
    result = interpreter.run(program)
    return result.output, result.logs


LOGGING = """
import logging
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(name)s:%(lineno)d %(message)s")
log = logging.getLogger("planted")
log.setLevel(logging.INFO)
log.debug("no")
log.info("x=%d", 3)
try:
    1 / 0
except ZeroDivisionError:
    log.exception("bad")
braces = logging.StreamHandler()
braces.setFormatter(logging.Formatter("{levelname}|{message:>6}", style="{"))
log.addHandler(braces)
log.propagate = False
kept = []
class Keeping(logging.Handler):
    def emit(self, record): kept.append((record.getMessage(), record.exc_info[2]))
log.addHandler(Keeping())
log.error("yes", exc_info=ValueError("v"))
logging.getLogger("planted") is log, kept
"""


def test_logging_writes_into_the_programs_logs_and_the_host_keeps_its_loggers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = (list(logging.root.handlers), logging.root.level, set(logging.root.manager.loggerDict))
    output, logs = run(LOGGING, "logging")
    assert output == (True, [("yes", None)])
    assert logs.splitlines() == [
        "INFO planted:7 x=3",
        "ERROR planted:11 bad",
        "Traceback (most recent call last):",
        *[line for line in logs.splitlines() if line.startswith("  File ")],
        "ZeroDivisionError: division by zero",
        "ERROR|   yes",
        "ValueError: v",
    ]
    after = (list(logging.root.handlers), logging.root.level, set(logging.root.manager.loggerDict))
    assert after == before
    assert caplog.records == []


def test_a_formatter_of_the_programs_calls_the_one_it_derives_from() -> None:
    program = """
import logging
class Framed(logging.Formatter):
    def format(self, record): return "<" + super().format(record) + ">"
class Plain(logging.Formatter): pass
handler = logging.StreamHandler()
handler.setFormatter(Framed("%(levelname)s %(message)s"))
log = logging.getLogger("framed")
log.addHandler(handler)
log.warning("w")
Plain("%(message)s").format(logging.makeLogRecord({"msg": "plain"}))
"""
    assert run(program, "logging") == ("plain", "<WARNING w>\n")


def test_the_loggers_of_a_program_are_kept_from_run_to_run_and_from_another() -> None:
    one, other = Interpreter(["logging"]), Interpreter(["logging"])
    one.run("import logging\nlogging.basicConfig(format='%(message)s!')")
    assert one.run("logging.warning('a')").logs == "a!\n"
    assert other.run("import logging\nlogging.warning('a')").logs == "WARNING:root:a\n"


PARSING = """
import argparse
parser = argparse.ArgumentParser(description="Adds")
parser.add_argument("names", nargs="+")
parser.add_argument("-n", "--number", type=int, default=3, help="how many (%(default)s)")
parser.add_argument("--tag", action="append", default=[])
commands = argparse.ArgumentParser(prog="tool").add_subparsers(dest="command")
commands.add_parser("go").add_argument("--fast", action="store_true")
class Twice(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values * 2)
parser.add_argument("--twice", action=Twice)
parser.print_usage()
found = parser.parse_args(["a", "b", "-n", "4", "--tag", "x", "--twice", "z"])
found.more = 1
"""


def test_argparse_parses_and_prints_for_the_program() -> None:
    output, logs = run(
        PARSING + "vars(found), parser.parse_known_args(['q', '--w'])[1]", "argparse"
    )
    names = {"names": ["a", "b"], "number": 4, "tag": ["x"], "twice": "zz", "more": 1}
    assert output == (names, ["--w"])
    assert logs.split()[:4] == ["usage:", "program", "[-h]", "[-n"]
    with pytest.raises(InterpreterError, match="SystemExit: 2"):
        run(PARSING + "parser.parse_args(['--wrong'])", "argparse")


def test_a_finalizer_runs_with_its_object_and_not_when_the_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda *given: registered.append(given))
    program = """
import weakref
class Node: pass
node, other = Node(), Node()
seen = []
weakref.finalize(node, seen.append, "gone")
left = weakref.finalize(other, seen.append, "never")
weakref.proxy(other).value = 3
known = weakref.WeakValueDictionary(a=node, b=other)
del node
seen, sorted(known), other.value, left.alive, weakref.getweakrefcount(other) > 0
"""
    assert run(program, "weakref")[0] == (["gone"], ["b"], 3, True, True)
    assert registered == []


INSPECTING = """
import functools, inspect
class A:
    "Says."
    x = 1
    def __init__(self, a: int, *b, c=(1,), **d): self.y = 2
    def m(self): pass
    @property
    def p(self): return 5
@functools.wraps(A.m)
def wrapper(*given): pass
def numbers(): yield
bound = inspect.signature(A).bind(1, 2, c=3)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("str(inspect.signature(A))", "(a: int, *b, c=(1,), **d)"),
        ("list(inspect.signature(A.__init__).parameters)", ["self", "a", "b", "c", "d"]),
        ("[n for n, _ in inspect.getmembers(A, inspect.isfunction)]", ["__init__", "m"]),
        (
            "[n for n, _ in inspect.getmembers(A(1)) if not n.startswith('_')]",
            ["m", "p", "x", "y"],
        ),
        ("inspect.getmro(A) == (A, object), inspect.getdoc(A)", (True, "Says.")),
        ("inspect.unwrap(wrapper) is A.m, str(inspect.signature(wrapper))", (True, "(self)")),
        ("bound.arguments, bound.args", ({"a": 1, "b": (2,), "c": 3}, (1, 2))),
        ("inspect.getfullargspec(A.__init__).kwonlydefaults", {"c": (1,)}),
        ("inspect.get_annotations(A.__init__) == {'a': int}", True),
        ("inspect.getgeneratorstate(numbers()), inspect.isgeneratorfunction(numbers)",
         ("GEN_CREATED", True)),
        ("inspect.getsource(numbers)", "def numbers():\n    yield\n"),
        ("str(inspect.signature(len))", "(obj, /)"),
        ("inspect.signature(lambda a, b=2: 1).parameters['b'].default", 2),
    ],
)  # fmt: skip
def test_inspect_describes_what_the_program_defined(expression: str, expected: Any) -> None:
    assert run(INSPECTING + expression, "inspect")[0] == expected


KEYS = collections.OrderedDict(a=1)


class Thing:
    """Of the host's."""

    def __init__(self, key: Any = KEYS) -> None:
        self.key = key

    @staticmethod
    def fail() -> None:
        """Raise beside a variable."""
        local = "secret" * 2
        raise ValueError(len(local))


def test_inspect_shows_the_defaults_of_the_host_as_text() -> None:
    program = (
        "import inspect\nshown = inspect.signature(Thing).parameters['key'].default\n"
        "repr(shown), hasattr(shown, 'update'), 'key' in dict(inspect.getmembers(thing))"
    )
    found = run(program, "inspect", Thing=Thing, thing=Thing())[0]
    assert found == (repr(KEYS), False, True)


REFUSED = {
    "frame": ("inspect", "inspect.currentframe()"),
    "stack": ("inspect", "inspect.stack()"),
    "namespace": ("inspect", "inspect.getclosurevars(Thing.__init__)"),
    "static": ("inspect", "inspect.getattr_static(Thing, 'key')"),
    "text": ("inspect", "inspect.signature(lambda: 1, eval_str=True)"),
    "text-of-an-object": ("inspect", "inspect.signature(len).from_callable(len, eval_str=True)"),
    "file": ("logging", "logging.FileHandler('planted.log')"),
    "file-by-config": ("logging", "logging.basicConfig(filename='planted.log')"),
    "warnings": ("logging", "logging.captureWarnings(True)"),
    "logged-address": ("logging", "logging.makeLogRecord({'__array_interface__': {}})"),
    "logged-width": ("logging", "logging.warning('%9999999999d', 1)"),
    "argument-file": (
        "argparse",
        "argparse.ArgumentParser(fromfile_prefix_chars='@').parse_args(['@/etc/passwd'])",
    ),
    "argument-file-type": ("argparse", "argparse.FileType()('/etc/passwd')"),
    "argument-address": ("argparse", "argparse.Namespace(**{'__array_interface__': {}})"),
    "argument-of-a-class": (
        "argparse",
        "p = argparse.ArgumentParser()\np.add_argument('--planted')\n"
        "p.parse_args(['--planted', '1'], namespace=Thing)",
    ),
    "proxy-of-a-class": ("weakref", "weakref.proxy(Thing).planted = 1"),
    "proxy-of-a-function": (
        "weakref",
        "from re import escape\nweakref.proxy(escape).planted = 1",
    ),
    "registry": ("copyreg", "copyreg.pickle(Thing, len)"),
    "codec": ("codecs", "codecs.register(len)"),
    "codec-errors": ("codecs", "codecs.register_error('strict', len)"),
    "codec-file": ("codecs", "codecs.open('/etc/passwd')"),
    "lines": ("linecache", "linecache.getlines('/etc/passwd')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_leads_to_the_host_is_refused(name: str) -> None:
    module, program = REFUSED[name]
    with pytest.raises(InterpreterError, match=r"Forbidden|Cannot|would make"):
        run(f"import {module}\n{program}", module, Thing=Thing)
    assert not hasattr(Thing, "planted")


LINES = {
    "warning": "warnings.warn_explicit('planted', UserWarning, path, 3)",
    "formatted-warning": "print(warnings.formatwarning('planted', UserWarning, path, 3))",
    "shown-warning": "warnings.showwarning('planted', UserWarning, path, 3)",
    "warning-to-a-stream": "warnings.showwarning('planted', UserWarning, path, 3, io.StringIO())",
    "frame": "print(traceback.FrameSummary(path, 3, 'planted').line)",
    "frames": "print(traceback.format_list([(path, 3, 'planted', None)]))",
    "summary": "print(traceback.StackSummary.from_list([(path, 3, 'planted', None)]).format())",
    "syntax": "print(traceback.format_exception_only(SyntaxError('planted', (path, 3, 1, None))))",
    "locals": """
try:
    Thing.fail()
except ValueError as error:
    found = traceback.TracebackException.from_exception(error, capture_locals=True)
    print("planted", *found.format(), found.stack[-1].locals)
""",
}


@pytest.mark.parametrize("name", LINES)
def test_no_line_of_a_file_and_no_variable_of_the_host_is_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text("one\ntwo\nsecret = 1\n")
    program = "import io, traceback, warnings\nwarnings.simplefilter('always')\n" + LINES[name]
    modules = ("io", "traceback", "warnings")
    logs = run(program, *modules, path=str(path), Thing=Thing)[1]
    assert "secret" not in logs
    assert "planted" in logs or "stream" in name or name == "frame"


def test_no_line_of_another_program_is_shown() -> None:
    one, other = Interpreter(["warnings"]), Interpreter(["warnings"])
    one.run("import warnings\nwarnings.simplefilter('always')\nsecret = 1")
    program = """
import warnings
warnings.simplefilter("always")
for number in range(3000):
    warnings.warn_explicit("planted", UserWarning, f"<program {number}>", 3)
"""
    assert "secret" not in other.run(program).logs
    assert "warnings.warn('own')" in one.run("warnings.warn('own')").logs


def test_a_format_of_logs_reads_no_attribute() -> None:
    program = """
import logging
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("{f.__globals__}", style="{", validate=False))
log = logging.getLogger("read")
log.addHandler(handler)
log.warning("x", extra={"f": Thing.__init__})
"""
    logs = run(program, "logging", Thing=Thing)[1]
    assert "Forbidden access to dunder attribute: __globals__" in logs
    assert __file__ not in logs


def test_the_hosts_modules_are_the_same_as_before() -> None:
    """No copy replaces a module, and none has its classes in the host's hands."""
    kinds = run(
        "import logging, argparse, weakref, inspect\n"
        "[logging.Logger, argparse.Namespace, weakref.finalize, inspect.Signature]",
        *("logging", "argparse", "weakref", "inspect"),
    )[0]
    own = [logging.Logger, argparse.Namespace, weakref.finalize, inspect.Signature]
    assert all(a is not b and a.__name__ == b.__name__ for a, b in zip(kinds, own, strict=True))
    assert sys.modules["logging"] is logging

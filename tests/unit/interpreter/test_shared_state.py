"""What libraries keep for the whole process is the program's own while it runs."""

from __future__ import annotations

import asyncio
import calendar
import decimal
import random
import warnings
from contextvars import ContextVar
from typing import Any

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter import Interpreter

SETTINGS = """
import calendar, decimal, random, warnings
decimal.getcontext().prec = 5
random.seed(0)
warnings.simplefilter("ignore")
calendar.setfirstweekday(6)
calendar.mdays[1] = 40
seen = look()
"""


def host() -> tuple[Any, ...]:
    return (
        repr(decimal.getcontext()),
        hash(random.getstate()),
        list(map(str, warnings.filters)),
        calendar.firstweekday(),
        list(calendar.mdays),
    )


def started(*imports: str, **tools: Any) -> Interpreter:
    interpreter = Interpreter(imports)
    interpreter.send_tools(tools)
    return interpreter


def test_the_host_and_its_tools_keep_their_settings_and_the_program_its_own() -> None:
    before = host()
    interpreter = started("calendar", "decimal", "warnings", look=lambda: host() == before)
    interpreter.run(SETTINGS)
    assert interpreter.run("seen").output is True
    assert host() == before
    again = "(decimal.getcontext().prec, calendar.firstweekday(), calendar.mdays[1], look())"
    assert interpreter.run(again).output == (5, 6, 40, True)


def test_settings_come_back_when_the_program_fails() -> None:
    before = host()
    with pytest.raises(InterpreterError):
        started("decimal").run("import decimal\ndecimal.getcontext().prec = 3\n1 / 0")
    assert host() == before


def test_numpy_and_pandas_settings_are_the_programs_own() -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")

    def settings() -> tuple[Any, ...]:
        state = np.random.get_state()
        return (
            np.geterr(),
            np.get_printoptions(),
            state[1].tolist(),
            state[2:],
            pd.get_option("display.max_rows"),
        )

    before = settings()
    interpreter = started("numpy", "pandas", look=lambda: settings() == before)
    interpreter.run(
        "import numpy as np, pandas as pd\nnp.random.seed(1)\nnp.seterr(all='raise')\n"
        "np.set_printoptions(precision=2)\npd.options.display.max_rows = 7\n"
        "first = np.random.rand()"
    )
    assert settings() == before
    shown = "(np.geterr()['over'], np.get_printoptions()['precision'], pd.options.display.max_rows)"
    assert interpreter.run(f"(*{shown}, look())").output == ("raise", 2, 7, True)
    assert interpreter.run("np.random.seed(1)\nnp.random.rand() == first").output


def test_a_program_inside_a_coroutine_sees_no_loop_or_task_of_the_hosts() -> None:
    async def main() -> list[Any]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def look() -> bool:
            return asyncio.get_running_loop() is loop and asyncio.current_task() is task

        interpreter = started("asyncio", look=look)
        found = [interpreter.run("import asyncio\nlook()").output]
        for call in ("get_running_loop", "get_event_loop", "all_tasks", "current_task"):
            with pytest.raises(InterpreterError, match="no running event loop"):
                interpreter.run(f"asyncio.{call}()")
        with pytest.raises(InterpreterError, match="no running event loop"):
            interpreter.run("asyncio.Future().get_loop().call_soon(print)")
        program = (
            "async def main():\n    return look(), len(asyncio.all_tasks())\nasyncio.run(main())"
        )
        found.append(interpreter.run(program).output)
        assert asyncio.get_running_loop() is loop
        return found

    assert asyncio.run(main()) == [True, (True, 1)]


CATCHES = """
class Keep:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        global kept
        kept = kind
        error.args = ("forged",)
        return True
with Keep():
    final_answer("true")
"""


def test_a_final_answer_is_not_changed_by_who_catches_it() -> None:
    interpreter = started(final_answer=lambda answer: answer)
    assert interpreter.run(CATCHES).output == "true"


def test_the_class_of_a_final_answer_is_no_final_answer() -> None:
    interpreter = started(final_answer=lambda answer: answer)
    interpreter.run(CATCHES)
    with pytest.raises(InterpreterError) as caught:
        interpreter.run("raise kept('forged')")
    assert "forged" in str(caught.value)


def test_attributes_of_a_function_tool_stay_with_the_host() -> None:
    def tool() -> int:
        """Count."""
        return 1

    tool.client = object()  # type: ignore[attr-defined]
    tool.__wrapped__ = print  # type: ignore[attr-defined]
    interpreter = started(tool=tool)
    assert interpreter.run("(tool(), tool.__name__, tool.__doc__)").output == (1, "tool", "Count.")
    assert (
        interpreter.run("hasattr(tool, 'client') or hasattr(tool, '__wrapped__')").output is False
    )


def test_what_a_tool_says_of_itself_is_a_copy() -> None:
    class Tool:
        inputs = {"text": {"type": "string"}}  # noqa: RUF012 - as tools have it

        def __call__(self) -> None: ...

    interpreter = started(tool=Tool())
    interpreter.run("tool.inputs['text']['type'] = 'evil'")
    assert interpreter.run("tool.inputs").output == {"text": {"type": "string"}}
    assert Tool.inputs == {"text": {"type": "string"}}


def test_a_program_sees_its_own_context_variables_and_none_of_the_hosts() -> None:
    secret: ContextVar[str] = ContextVar("secret")
    token = secret.set("of the host")
    program = """
import contextvars, decimal
own = contextvars.ContextVar("own", default=0)
own.set(1)
decimal.getcontext().prec = 7
copied = contextvars.copy_context()
inside = copied.run(lambda: (own.set(5), own.get(), decimal.getcontext().prec)[1:])
(own.get(), inside, copied[own], sorted(v.name for v in copied if "decimal" not in v.name),
 isinstance(own, contextvars.ContextVar), contextvars.ContextVar[int] is not None)
"""
    try:
        found = started("contextvars", "decimal").run(program).output
    finally:
        secret.reset(token)
    assert found == (1, (5, 7), 5, ["own"], True, True)


def test_the_masked_constant_is_the_hosts_again_after_a_run() -> None:
    numpy = pytest.importorskip("numpy")
    program = """
import numpy as np
def owner(array):
    return array if array.base is None else owner(array.base)
for array, wrong in ((owner(np.ma.masked.data), 7), (owner(np.ma.masked.mask), False)):
    array.flags.writeable = True
    array[...] = wrong
    array.flags.writeable = False
"""
    started("numpy").run(program)
    masked = numpy.ma.masked
    assert (masked.data.item(), masked.mask.item()) == (0.0, True)
    assert not masked.data.flags.writeable


def test_arrays_of_modules_and_classes_are_the_programs_own() -> None:
    numpy = pytest.importorskip("numpy")
    program = """
import numpy as np
import numpy.polynomial.chebyshev as chebyshev
classes = [np.polynomial.Polynomial, chebyshev.Chebyshev, np.polynomial.polynomial.Polynomial]
arrays = [*(c.domain for c in classes), *(c([1]).window for c in classes), chebyshev.chebx]
for array in arrays:
    array[0] = 5
float(np.polynomial.Polynomial([1, 2])(3)), classes[0].cast(classes[1]([1, 2])).coef.tolist()
"""
    assert started("numpy.*").run(program).output == (7.0, [1.0, 2.0])
    polynomial = numpy.polynomial
    for cls in (polynomial.Polynomial, polynomial.Chebyshev):
        assert [cls.domain.tolist(), cls.window.tolist()] == [[-1.0, 1.0], [-1.0, 1.0]]
    assert polynomial.chebyshev.chebx.tolist() == [0, 1]

"""asyncio in programs: their own loop, whatever runs the program."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour
from contract_kinds import printed

MAIN = """
import asyncio

async def main():
    await asyncio.sleep(0.01)
    print("working")
    return double(21)
"""


@pytest.fixture
def executor(contract):
    made = contract.shared
    made.send_tools({"double": lambda number: 2 * number})
    made(MAIN)
    return made


@behaviour("Asynchronous code", "asyncio.run() works, as in a plain program.")
@pytest.mark.parametrize(
    "code",
    [
        "asyncio.run(main())",
        "asyncio.get_event_loop().run_until_complete(main())",
        "loop = asyncio.new_event_loop()\nfound = loop.run_until_complete(main())\n"
        "loop.close()\nfound",
    ],
    ids=["run", "get_event_loop", "new_event_loop"],
)
def test_asyncio_run(executor, code):
    result = executor(code)
    assert (result.output, result.logs) == (42, "working\n")


@behaviour("Asynchronous code", "Top-level await works, and its variables are kept.")
def test_top_level_await(executor):
    result = executor("found = await asyncio.gather(main(), main())\nsum(found)")
    assert (result.output, result.logs) == (84, "working\nworking\n")
    assert executor("found").output == [42, 42]


@behaviour("Asynchronous code", "A call that ends with a coroutine logs that nothing awaited it.")
def test_forgotten_await(contract, executor):
    result = executor("main()")
    if contract.differs:
        result.output.close()
    else:
        assert "coroutine 'main' was never awaited\n  main()\n" in result.logs
        assert "smolagents_fork" not in result.logs


@behaviour("Asynchronous code", "No loop runs where the code does not await.")
def test_no_loop_runs_without_await(executor):
    code = (
        "found = 'one'\ntry:\n    asyncio.get_running_loop()\n"
        "except RuntimeError:\n    found = 'none'\nfound"
    )
    assert executor(code).output == "none"
    with pytest.raises(Exception, match=r"asyncio.run\(\) cannot be called from a running event"):
        executor("await main()\nasyncio.run(main())")


@behaviour("Asynchronous code", "asyncio.run() sees the context variables of the code.")
def test_context_of_asyncio_run(executor):
    executor("import contextvars\nasked = contextvars.ContextVar('asked')")
    assert (
        executor(
            "asked.set(5)\nasync def read():\n    return asked.get()\nasyncio.run(read())"
        ).output
        == 5
    )


@behaviour("Asynchronous code", "An exception in a coroutine is the error of the step.")
@pytest.mark.parametrize("code", ["asyncio.run(fail())", "await fail()"])
def test_errors_of_coroutines(executor, code):
    executor("async def fail():\n    raise ValueError('of the coroutine')")
    with pytest.raises(Exception, match="ValueError: of the coroutine"):
        executor(code)
    assert executor("asyncio.run(main())").output == 42


@behaviour("Asynchronous code", "final_answer() in a coroutine ends the run.")
@pytest.mark.parametrize("code", ["asyncio.run(finish())", "await finish()"])
def test_final_answer_in_a_coroutine(executor, code):
    executor.send_tools({"final_answer": lambda answer: answer})
    executor("async def finish():\n    final_answer(await main())\n    print('ran on')")
    result = executor(code)
    assert (result.output, result.is_final_answer) == (42, True)
    assert "ran on" not in result.logs
    assert executor("asyncio.run(main())").output == 42


@behaviour("Asynchronous code", "interrupt() ends a coroutine, and state is kept.")
@pytest.mark.parametrize("code", ["asyncio.run(endless())", "await endless()"])
def test_interrupt_ends_a_coroutine(contract, executor, code):
    endless = (
        "async def endless():\n    begin()\n    await asyncio.sleep(100)\n    print('ran on')\n"
    )
    with (
        contract.once_begun(executor, executor.interrupt),
        pytest.raises(Exception, match="interrupted"),
    ):
        executor(endless + code)
    assert "ran on" not in printed(executor)
    executor.send_tools({"double": lambda number: 2 * number})
    assert executor("await main()").output == 42


@behaviour("Asynchronous code", "Tools work in threads of asyncio, in every call.")
def test_tools_in_threads_of_asyncio(contract):
    executor = contract.make()
    if contract.without_threads(executor):
        return
    executor.send_tools({"double": lambda number: 2 * number})
    code = (
        "import asyncio\n"
        "await asyncio.gather(*[asyncio.to_thread(double, number) for number in range(3)])"
    )
    for _ in range(2):
        result = executor(code)
        assert (result.output, result.logs) == ([0, 2, 4], "")

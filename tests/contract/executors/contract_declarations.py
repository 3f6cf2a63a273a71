"""Promises of every executor, and the table of their differences by design.

A test of this suite runs on every executor. If an executor is listed in :data:`DIFFERENCES`, the
test reads ``contract.differs`` and checks the other behaviour. A test that does not read it fails.
``docs/executors/index.md`` is made from both tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

AREAS = (
    "Isolation",
    "Python",
    "Imports",
    "Network",
    "State",
    "Tools",
    "Managed agents",
    "Final answer",
    "Errors",
    "Output",
    "Values",
    "Files",
    "Images",
    "Asynchronous code",
    "Limits",
    "Interruption",
    "Control",
    "Cleanup",
)
EXECUTORS = ("local", "process", "docker", "wasm")
#: Columns that are not on the page's tables, and that may differ from the executor they are as.
COLUMNS = ("hosted",)

_Function = TypeVar("_Function", bound=Callable[..., object])


@dataclass(frozen=True)
class Behaviour:
    """One promise: its test, its area, and its sentence for the page."""

    test: str
    area: str
    text: str
    module: str
    line: int


@dataclass(frozen=True)
class Difference:
    """A difference from promises by design: the executors, the tests, and the behaviour instead."""

    executors: tuple[str, ...]
    tests: tuple[str, ...]
    text: str


BEHAVIOURS: dict[str, Behaviour] = {}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        ("local",),
        (
            "test_ordinary_programs",
            "test_output_of_code_in_c",
            "test_replaced_standard_output",
            "test_threads_left_over",
        ),
        "The code runs in your process, under policy and limits: see the page of "
        "[divergences](../divergences.md).",
    ),
    Difference(
        ("local",),
        ("test_functions_of_numba",),
        "numba reads the code of functions, which calls guards here, and compiles none of a "
        "program.",
    ),
    Difference(
        ("process", "wasm"),
        ("test_processes_of_multiprocessing",),
        "The sandbox starts no processes: an error says so. Threads work in `process`.",
    ),
    Difference(
        ("local",),
        ("test_variables_are_read",),
        "`variables()` returns the objects themselves, functions and classes included.",
    ),
    Difference(
        ("local",),
        ("test_copies_are_refused",),
        "`copy` and `pickle` copy the executor with its state, as upstream's; pickle refuses a "
        "state with functions or classes of the program.",
    ),
    Difference(
        ("local",),
        (
            "test_connections_of_code",
            "test_missing_network_is_named",
            "test_environment_of_code",
            "test_files_that_code_reads",
            "test_processes_of_multiprocessing",
            "test_programs_that_code_starts",
        ),
        "The code runs in your process: a module that you authorise does there what it does.",
    ),
    Difference(
        ("local",),
        ("test_sandboxes_are_recorded",),
        "There is no sandbox to record: runs, calls of tools and files are recorded.",
    ),
    Difference(
        ("local", "wasm"),
        (
            "test_listed_hosts_are_reached",
            "test_secrets_stay_outside",
            "test_unlisted_hosts_are_named",
        ),
        "There is no list of hosts: `allowed_hosts=` and `secrets=` are refused by an error that "
        "names them.",
    ),
    Difference(
        ("docker",),
        ("test_imports_are_authorised",),
        "The code imports every module of the image: the container is the boundary, not a list of "
        "modules.",
    ),
    Difference(
        ("process", "docker", "wasm"),
        ("test_a_refused_name_in_an_unused_function",),
        "The code is ordinary Python: no name is refused. The sandbox limits what it reaches.",
    ),
    Difference(
        ("docker",),
        ("test_class_of_errors",),
        "Errors of the code are upstream's `AgentError`, with the kernel's traceback; the "
        "interpreter's are `InterpreterError`, which is upstream's, too.",
    ),
    Difference(
        ("process", "docker", "wasm"),
        ("test_names_of_tools_are_kept",),
        "A tool's name is a variable of the code, which loses the tool when it assigns to it, "
        "until the next run sends it again; `final_answer` is back in the next call.",
    ),
    Difference(
        ("process", "docker", "wasm"),
        ("test_no_code_goes_on_after_the_final_answer",),
        "Code that catches `BaseException` may run for a second after the answer. It cannot call "
        "tools.",
    ),
    Difference(
        ("local",),
        ("test_a_tool_takes_its_name",),
        "A variable the code made keeps its name when a tool of that name is sent later, as in "
        "upstream's local executor.",
    ),
    Difference(
        ("process", "docker", "wasm"),
        ("test_tools_that_are_not_sent_again",),
        "Tools of earlier calls stay, as in upstream's remote executors.",
    ),
    Difference(
        ("wasm",),
        (
            "test_calls_from_threads",
            "test_final_answer_from_a_thread",
            "test_threads_call_no_tool_after_the_end",
            "test_tools_in_threads_of_asyncio",
        ),
        "WebAssembly's Python has no threads: starting one is an error, and `asyncio` works.",
    ),
    Difference(
        ("wasm",),
        (
            "test_arrays",
            "test_large_arrays",
            "test_data_frames",
            "test_images_of_every_mode",
            "test_figure_drawn_into_image",
            "test_figure_as_value",
            "test_pandas_of_the_host_is_unchanged",
            "test_figures_come_as_images",
            "test_other_bitmaps_come_as_images",
            "test_shown_tables_come_as_html",
            "test_libraries_open_files_of_the_work_folder",
            "test_one_list_serves_every_executor",
            "test_models_of_pydantic",
            "test_functions_of_numba",
        ),
        "Compiled packages, such as numpy, pandas and Pillow, need wheels for Pyodide's platform; "
        "an error names a package without one.",
    ),
    Difference(
        ("local",),
        ("test_figure_as_value",),
        "A value is the figure itself, as in upstream; draw it into an image.",
    ),
    Difference(
        ("local",),
        ("test_libraries_open_files_of_the_work_folder",),
        "Libraries open relative paths in your process's current folder: the code gives them "
        "`open('data.csv')`.",
    ),
    Difference(
        ("local",),
        ("test_files_given_are_there_after_a_restart",),
        "There is no restart; `cleanup()` removes the work folder, and the next use makes another.",
    ),
    Difference(
        ("wasm",),
        (
            "test_tools_exchange_files_with_the_code_that_calls_them",
            "test_files_are_exchanged_while_code_runs",
        ),
        "A file method called by a tool is an error that says so, and one of another thread waits "
        "for the end of the call.",
    ),
    Difference(
        ("hosted",),
        (
            "test_connections_of_code",
            "test_files_that_code_reads",
            "test_files_of_the_host",
            "test_missing_network_is_named",
            "test_programs_that_code_starts",
        ),
        "Code, files and network are those of the service's machine: what it isolates is the "
        "service's promise.",
    ),
    Difference(
        ("hosted",),
        ("test_large_arrays",),
        "A Jupyter server closes the connection on a message of more than 10 MiB to the sandbox; "
        "the error has its size. From the sandbox, values may be larger.",
    ),
    Difference(
        ("local",),
        ("test_interrupt_does_not_wait_for_a_tool",),
        "A tool runs in the code's own thread: `interrupt()` takes effect when it has ended.",
    ),
    Difference(
        ("local",),
        ("test_exceptions_of_tools_do_not_tell_of_the_host",),
        "The code runs in the host's process: an exception's message arrives unchanged, paths "
        "included.",
    ),
    Difference(
        ("local",),
        (
            "test_values_that_cannot_travel",
            "test_outputs_that_cannot_travel",
            "test_forgotten_await",
            "test_the_text_of_an_answer_calls_no_tool",
            "test_tools_get_copies",
        ),
        "No value is encoded: code and tools share objects of one process.",
    ),
    Difference(
        ("local",),
        (
            "test_tools_have_a_time_limit",
            "test_calls_are_capped",
            "test_calls_are_logged",
        ),
        "The local executor has no bridge: a tool may run for any time, and its calls are limited "
        "by the interpreter's operations only.",
    ),
    Difference(
        ("local",),
        (
            "test_agent_with_its_own_executor",
            "test_a_closed_executor_says_so",
            "test_cleanup_in_a_callback",
            "test_cleanup_while_code_runs",
        ),
        "There are no resources: `cleanup()` does nothing, and the executor can still be used.",
    ),
    Difference(
        ("local",),
        ("test_stream_that_ends_the_host",),
        "`on_output` runs within the code's `print`: what it raises is an error of the code.",
    ),
    Difference(
        ("local",),
        ("test_code_that_does_not_stop_is_killed", "test_sandbox_that_ends_between_calls"),
        "The code runs in your process: it is not in a sandbox that could end or be killed.",
    ),
    Difference(
        ("local",),
        ("test_restart_keeps_tools_and_variables",),
        "There is no `restart()`: make a new executor.",
    ),
)


def behaviour(area: str, text: str) -> Callable[[_Function], _Function]:
    """Declare that the decorated test checks a promise.

    Args:
        area: one of :data:`AREAS`.
        text: a sentence for the page.
    """

    def declare(function: _Function) -> _Function:
        name = function.__name__
        module = function.__module__.rpartition(".")[2]
        known = BEHAVIOURS.get(name)
        if known is not None and known.module != module:
            raise ValueError(f"{name} is declared in {known.module} and in {module}")
        line = function.__code__.co_firstlineno
        BEHAVIOURS[name] = Behaviour(name, area, text, module, line)
        return function

    return declare


def difference(executor: str, test: str) -> Difference | None:
    """Return the declared difference of ``executor`` in ``test``, if there is one."""
    return next((d for d in DIFFERENCES if executor in d.executors and test in d.tests), None)


def all_behaviours() -> list[Behaviour]:
    """Return every promise of the suite by area, module and line; imports the suite's modules."""
    for path in sorted(Path(__file__).parent.glob("test_contract_*.py")):
        importlib.import_module(path.stem)
    order = {area: number for number, area in enumerate(AREAS)}
    # Not in the order of their import: other tests may have imported some.
    return sorted(BEHAVIOURS.values(), key=lambda one: (order[one.area], one.module, one.line))

"""Event loop of the program, which never sees that of the kernel.

The kernel's loop runs while it executes code, so ``asyncio.run()`` would refuse to work. Set aside
meanwhile, it leaves what a plain program has: no loop runs, and top-level ``await`` starts one.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import asyncio
import contextlib
import functools
import inspect


@contextlib.contextmanager
def instead_of_the_kernels(program):
    """Set the running loop aside in the block, for that of the program."""
    running = asyncio._get_running_loop()
    if running is None:
        yield
        return
    # Python 3.14 has one current task a thread, not one a loop.
    swap = getattr(asyncio.tasks, "_swap_current_task", lambda _loop, _task: None)
    task = swap(running, None)
    asyncio._set_running_loop(None)
    asyncio.set_event_loop(program.current())
    try:
        yield
    finally:
        asyncio._set_running_loop(running)
        swap(running, task)
        asyncio.set_event_loop(running)


def install(shell, program):
    """Run the shell's cells, those with ``await`` too, apart from the kernel's loop."""
    run_cell = shell.run_cell

    @functools.wraps(run_cell)
    def run_cell_apart(*args, **kwargs):
        with instead_of_the_kernels(program):
            return run_cell(*args, **kwargs)

    # The kernel asks for it at each call.
    run_cell_apart.__signature__ = inspect.signature(run_cell)
    shell.run_cell = run_cell_apart
    # The kernel awaits cells in its own loop only with the runner that is the default.
    shell.loop_runner = program.run

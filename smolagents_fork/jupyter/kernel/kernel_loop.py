"""Event loop of the program, which never sees that of the kernel.

The kernel's loop runs while it executes code, so ``asyncio.run()`` would refuse to work. Set aside
meanwhile, it leaves what a plain program has: no loop runs, and top-level ``await`` starts one.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
import threading
import time

# Longest wait for idle threads of an event loop to end, in seconds.
POOL_SECONDS = 0.1


class ProgramLoop:
    """Loop for top-level ``await``, kept from cell to cell."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()

    def current(self):
        if self.loop.is_closed():  # by the program
            self.loop = asyncio.new_event_loop()
        return self.loop

    def run(self, coroutine):
        """Run the coroutine of a cell; end all tasks with one that is interrupted."""
        loop = self.current()
        # Its threads end with the cell, as all do that the program may not use in a later one.
        pool = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="asyncio")
        loop.set_default_executor(pool)
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except Exception:
            raise
        except BaseException:
            with contextlib.suppress(BaseException):
                tasks = asyncio.all_tasks(loop)
                for one in tasks:
                    one.cancel()
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            raise
        finally:
            pool.shutdown(wait=False)
            end = time.monotonic() + POOL_SECONDS
            for thread in threading.enumerate():
                if thread.name.startswith("asyncio_"):
                    thread.join(max(0.0, end - time.monotonic()))

    @contextlib.contextmanager
    def instead(self):
        """Set the running loop aside in the block."""
        running = asyncio._get_running_loop()
        if running is None:
            yield
            return
        # Python 3.14 has one current task a thread, not one a loop.
        swap = getattr(asyncio.tasks, "_swap_current_task", lambda _loop, _task: None)
        task = swap(running, None)
        asyncio._set_running_loop(None)
        asyncio.set_event_loop(self.current())
        try:
            yield
        finally:
            asyncio._set_running_loop(running)
            swap(running, task)
            asyncio.set_event_loop(running)


def install(shell):
    """Run the shell's cells, those with ``await`` too, apart from the kernel's loop."""
    program, run_cell = ProgramLoop(), shell.run_cell

    @functools.wraps(run_cell)
    def run_cell_apart(*args, **kwargs):
        with program.instead():
            return run_cell(*args, **kwargs)

    # The kernel asks for it at each call.
    run_cell_apart.__signature__ = inspect.signature(run_cell)
    shell.run_cell = run_cell_apart
    # The kernel awaits cells in its own loop only with the runner that is the default.
    shell.loop_runner = program.run

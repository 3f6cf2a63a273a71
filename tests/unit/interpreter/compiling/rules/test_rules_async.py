"""Rewriting rules: async: functions, loops, managers, and await at the top level."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x\nawait f(3)"),
        "3",
    ),
    (
        (
            "import asyncio\n"
            "async def f(x): return x\n"
            "async def main(): return await asyncio.gather(f(1), f(2))\n"
            "asyncio.run(main())"
        ),
        "[1, 2]",
    ),
    (
        (
            "import asyncio\n"
            "class M:\n"
            "    async def __aenter__(self): return 1\n"
            "    async def __aexit__(self, *a): return True\n"
            "async def main():\n"
            "    async with M() as x:\n"
            "        1 / 0\n"
            "    return x\n"
            "asyncio.run(main())"
        ),
        "1",
    ),
    (
        (
            "import asyncio\n"
            "class It:\n"
            "    n = 0\n"
            "    def __aiter__(self): return self\n"
            "    async def __anext__(self):\n"
            "        self.n += 1\n"
            "        if self.n > 3: raise StopAsyncIteration\n"
            "        return self.n\n"
            "async def main():\n"
            "    r = []\n"
            "    async for i in It(): r.append(i)\n"
            "    else: r.append('else')\n"
            "    return r\n"
            "asyncio.run(main())"
        ),
        "[1, 2, 3, 'else']",
    ),
]
REFUSED = [
    ("async def tool(): pass", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)

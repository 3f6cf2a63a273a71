"""Hostile programs in a child process: the kernel alone confines it.

A program that reaches its canary in the child also makes every attack of ``attacks.py``. The
attacks are the same for all, hence every sixth program, and with ``WHOLE_CONTRACT=1`` every one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hostile_table
import pytest
from background import run_python
from hostile_table import Program
from whole_contract import every

if TYPE_CHECKING:
    from process_host import ProcessHost

PARTS = hostile_table.in_parts(every(6, hostile_table.all_programs(), first=1), 30)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel that confines is Linux"),
    pytest.mark.slow,
    pytest.mark.limit(600),
]


@pytest.mark.parametrize("programs", PARTS.values(), ids=PARTS)
def test_programs_reach_nothing_outside(programs: list[Program], host: ProcessHost) -> None:
    host.check(programs)


def written(code: str) -> Program:
    return Program("written", "here", code, Path(__file__), 1)


def test_child_has_plain_python(host: ProcessHost) -> None:
    host.executor.restart()
    output = host.executor(
        "import sys, os\n(eval('6 * 7'), sys.flags.isolated, os.getuid())"
    ).output
    assert output == (42, 1, os.getuid())


@pytest.mark.parametrize(
    "code",
    [
        "leak(0)",
        "trip()",
        "__import__('hostile_canary').trip()",
        "import sys\nsys.modules['hostile_canary'].SECRET",
        "trip.__func__.__globals__['sys'].modules['hostile_canary'].trip()",
    ],
)
def test_program_that_reaches_its_canary_is_given_every_attempt(
    code: str, host: ProcessHost
) -> None:
    before = host.assaults
    assert host.faults([written(code)]) == {}
    assert host.assaults == before + 1


def test_most_programs_reach_their_canary(host: ProcessHost) -> None:
    """Programs that attack a limit are not included."""
    programs = [p for p in hostile_table.all_programs() if p.family == "refused_builtins"]
    before = host.assaults
    host.check(programs)
    assert host.assaults - before > len(programs) * 3 // 4


#: Attacks whose effects the test can remove, and that need no root rights.
UNCONFINED = """
files: read a file
files: append to a file
files: truncate a file
files: list a folder
files: make a file beside
files: make a folder beside
files: make a link beside
files: make a hard link beside
files: rename a file
files: read through a link
files: mode of a file
files: mode by a path descriptor
files: mode by fchmodat
files: owner of a file
files: owner by fchownat
files: times of a file
files: watch a folder
processes: environment of the host
processes: descriptors of the host
processes: limits of the neighbour
processes: priority of the neighbour
signals: signal to the host
signals: signal by the owner of a pipe
signals: signal to the neighbour
sockets: connection to the host
sockets: connection to a socket file
sockets: connection to an abstract name
sockets: datagram from a pair
sockets: listen
memory: memory file
""".strip().splitlines()


def test_attacks_are_not_refused_where_nothing_confines(tmp_path: Path) -> None:
    """Test of the tests: on the host, the attacks succeed and are detected."""
    from host_watch import HostWatch

    program = (
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import attacks\n"
        "names = json.loads(sys.argv[3])\n"
        "reached = attacks.make_all(json.loads(sys.argv[2]), names)\n"
        "print(*(name for name in names if not any(one.startswith(name + ' ') for one in reached)))"
    )
    with contextlib.closing(HostWatch()) as watch:
        before = watch.snapshot()
        facts = json.dumps(watch.facts())
        missing = run_python(
            program, str(Path(__file__).parent), facts, json.dumps(UNCONFINED), cwd=tmp_path
        )
        after = watch.snapshot()
    assert missing == "\n", "an attack that is refused shows nothing"
    changed = {name for name in before if before[name] != after.get(name)}
    assert {"file tree", "file tree/secret", "connections", "datagram", "victim"} <= changed

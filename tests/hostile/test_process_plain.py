"""Hostile programs in a child process: the kernel alone confines it.

A program that reaches its canary in the child also makes every attempt of ``assault.py``. The
attempts are the same for all, hence every sixth program, and with ``WHOLE_CONTRACT=1`` every one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hostile_table
import pytest
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


#: Attempts whose effects the test can remove, and that need no root rights.
UNCONFINED = [
    "read_secret_file", "list_names", "read_environment_of_host", "list_descriptors_of_host",
    "watch_names", "write_file", "truncate_file", "create_file", "make_folder", "link_in",
    "symlink_in", "read_through_symlink", "rename_file", "chmod_file", "chmod_by_descriptor",
    "chmod_relative", "chown_file", "chown_relative", "set_times",
    "signal_host", "signal_by_owner_of_pipe", "limit_victim", "slow_down_victim",
    "connect_to_host", "connect_to_socket_file", "connect_to_abstract_name", "send_from_pair",
    "listen", "memory_file", "signal_victim",
]  # fmt: skip


def test_attempts_are_not_refused_where_nothing_confines(tmp_path: Path) -> None:
    """Test of the tests: on the host, the attempts succeed and are detected."""
    from host_watch import HostWatch

    watch = HostWatch()
    program = (
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import assault\n"
        "names = json.loads(sys.argv[3])\n"
        "made = assault.made(json.loads(sys.argv[2]), names)\n"
        "print(*sorted(set(names) - {one.split()[0] for one in made}))\n"
    )
    try:
        before = watch.snapshot()
        arguments = [str(Path(__file__).parent), json.dumps(watch.facts()), json.dumps(UNCONFINED)]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        after = watch.snapshot()
    finally:
        watch.close()
    assert (done.stdout, done.stderr) == ("\n", ""), "an attempt that is refused shows nothing"
    changed = {name for name in before if before[name] != after.get(name)}
    assert {"file tree", "file tree/secret", "connections", "datagram", "victim"} <= changed

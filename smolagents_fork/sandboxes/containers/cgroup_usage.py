"""Resource use of a sandbox, read from its own control group, for engines that do not report it."""

from __future__ import annotations

from ...errors import ExecutorError
from ...results import ExecutorStats
from ..resource_limits import Limits, parse_size
from .container_files import Run
from .untrusted_json import checked_row, read_json

__all__ = ["cgroup_usage"]

_SECONDS = 15.0
# Prints memory without cached files in bytes, processor time in seconds, and processes, as JSON.
_READ = """
import json,os
top="/sys/fs/cgroup/"
def text(*names):
    for name in names:
        try: return open(top+name).read()
        except OSError: pass
    return ""
def field(text,*names):
    for line in text.splitlines():
        words=line.split()
        if words[:1] and words[0] in names: return int(words[1])
    return 0
memory=int(text("memory.current","memory/memory.usage_in_bytes") or 0)
stat=text("memory.stat","memory/memory.stat")
memory-=field(stat,"total_inactive_file","inactive_file")
cpu=field(text("cpu.stat"),"usage_usec")/1e6 or int(text("cpuacct/cpuacct.usage") or 0)/1e9
pids=text("pids.current","pids/pids.current").strip()
pids=int(pids) if pids else sum(name.isdigit() for name in os.listdir("/proc"))
print(json.dumps([max(0,memory),cpu,pids]))
"""


def cgroup_usage(run: Run, limits: Limits) -> ExecutorStats:
    """Return a sandbox's resource use.

    Args:
        run: runs programs in the sandbox.
        limits: Limits of the sandbox.

    Raises:
        ExecutorError: it cannot be read.
        ProtocolError: the answer is not resource use.
    """
    argv = ["python3", "-I", "-S", "-c", _READ]
    code, output, message = run(argv, timeout=_SECONDS, max_bytes=65_536)
    if code:
        text = message.decode("utf-8", "replace").strip() or f"exit code {code}"
        raise ExecutorError(f"the sandbox's resource use cannot be read: {text}")
    subject = "its resource use"
    types = ((int,), (int, float), (int,))
    memory, cpu, pids = checked_row(read_json(output, subject), types, subject)
    return ExecutorStats(
        memory_bytes=memory,
        memory_limit_bytes=None if limits.memory is None else parse_size(limits.memory),
        cpu_seconds=float(cpu),
        pids=pids,
    )

"""Command lines that programs overwrite: sandboxes stay listed, and look like no other."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from background import eventually

from smolagents_fork import ProcessExecutor, WasmExecutor
from smolagents_fork.process.child_inventory import ChildInventory
from smolagents_fork.system.inventory import Inventory, SandboxEntry
from smolagents_fork.system.proc_table import process_table
from smolagents_fork.wasm.deno_binary import GUEST_SCRIPT
from smolagents_fork.wasm.guest_inventory import GuestInventory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

GUEST = f"deno\0run\0{GUEST_SCRIPT}\0serve\0"
TEXTS = ["", "x\0" * 40, GUEST]


def write_command_line(pid: int, text: str) -> None:
    """Write a command line into the memory of a process, as its own program can."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(text.encode().ljust(end - start, b"\0")[: end - start])
    except PermissionError:
        pytest.skip("needs to trace the process")


def found(inventory: Inventory) -> dict[str, SandboxEntry]:
    return {entry.id: entry for entry in inventory.sandboxes()}


@pytest.mark.parametrize("text", TEXTS, ids=["nothing", "text", "guest"])
def test_child_stays_listed_and_is_killed(text: str):
    with ProcessExecutor([], None) as executor:
        pid = executor.pid
        assert pid is not None
        write_command_line(pid, text)
        assert process_table()[pid].argv[0] in ("", "x", "deno")
        child = found(ChildInventory())[f"process-{pid}"]
        assert f"wasm-{pid}" not in found(GuestInventory())
        GuestInventory().kill(replace(child, id=f"wasm-{pid}"))
        assert executor("1 + 1").output == 2
        ChildInventory().kill(child)
        assert eventually(lambda: not executor.is_alive())


@pytest.mark.wasm
@pytest.mark.usefixtures("wasm_machine")
@pytest.mark.parametrize("text", TEXTS[:2], ids=["nothing", "text"])
def test_guest_stays_listed_and_is_killed(text: str):
    with WasmExecutor([]) as executor:
        pid = executor.pid
        assert f"wasm-{pid}" in found(GuestInventory())
        write_command_line(pid, text)
        GuestInventory().kill(found(GuestInventory())[f"wasm-{pid}"])
        assert eventually(lambda: not executor.is_alive())
    assert f"wasm-{pid}" not in found(GuestInventory())


def test_record_of_an_earlier_process_names_no_other(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ProcessExecutor([], None) as executor:
        pid = executor.pid
        assert pid is not None
        start = process_table()[pid].start
        folder = Path(executor.folder).parents[1]
        (folder / f"wasm-x.{pid}.{start - 1}.guest").touch()
        (folder / "strange.guest").touch()
        assert f"wasm-{pid}" not in found(GuestInventory())

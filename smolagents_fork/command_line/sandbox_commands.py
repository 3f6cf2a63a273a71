"""Commands about sandboxes: ``ps``, ``logs`` and ``kill``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import ForkError
from ..system.inventory import ELSEWHERE, GONE, OwnerProcess, SandboxEntry, size_text
from ..system.proc_table import has_proc
from .inventories import Where, all_sandboxes, find_sandbox
from .outcome import DONE, NOT_DONE, CommandOutcome, age_text, listing

__all__ = ["kill", "logs", "ps"]

_COMMAND_CHARS = 40


def ps(arguments: argparse.Namespace) -> CommandOutcome:
    """List the sandboxes that exist now, of any owner."""
    where = _where(arguments)
    entries, missing = all_sandboxes(where)
    if not has_proc():
        for executor in {"process", "wasm"}.intersection(where.executors()):
            missing[executor] = "this system has no /proc in which its sandboxes could be found"

    def show(console: Console) -> None:
        if entries:
            console.print(_table(entries))
        else:
            console.print("no sandboxes")
        for executor, why in missing.items():
            console.print(f"not listed: {executor}: {why}", style="yellow", soft_wrap=True)

    return CommandOutcome(
        {"sandboxes": [asdict(entry) for entry in entries], "not_listed": missing}, show
    )


def _where(arguments: argparse.Namespace) -> Where:
    return Where(arguments.engine, arguments.namespace)


def _table(entries: list[SandboxEntry]) -> Table:
    table = listing("ID", "EXECUTOR", "OWNER", "AGE", "MEMORY", "STATE", "IMAGE")
    for entry in entries:
        table.add_row(
            entry.id,
            entry.executor,
            _owner(entry.owner),
            age_text(entry.started_at),
            _memory(entry),
            entry.state,
            entry.image or "-",
        )
    return table


def _owner(owner: OwnerProcess) -> Text:
    pid = "unknown" if owner.pid is None else str(owner.pid)
    if owner.state == GONE:
        return Text(f"{pid} (gone)", style="red")
    where = f" on {owner.host or 'another machine'}" if owner.state == ELSEWHERE else ""
    where += f" ({owner.cluster})" if owner.cluster else ""
    command = owner.command
    if len(command) > _COMMAND_CHARS:
        command = command[: _COMMAND_CHARS - 3] + "..."
    return Text(f"{pid}{where} {command}".rstrip())


def _memory(entry: SandboxEntry) -> str:
    if entry.memory_bytes is None:
        return "-"
    limit = entry.memory_limit_bytes
    return size_text(entry.memory_bytes) + (f" of {size_text(limit)}" if limit else "")


def logs(arguments: argparse.Namespace) -> CommandOutcome:
    """Print the last lines of a sandbox's log."""
    where = _where(arguments)
    entry = find_sandbox(arguments.id, where)
    lines = where.inventory(entry.executor).log(entry, arguments.lines)

    def show(console: Console) -> None:
        if not lines:
            console.print(f"the log of {entry.id} is empty", style="dim")
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=True)

    return CommandOutcome({"id": entry.id, "lines": lines}, show)


def kill(arguments: argparse.Namespace) -> CommandOutcome:
    """End sandboxes at once; their state is lost, and their executors say so."""
    killed: list[str] = []
    failed: dict[str, str] = {}
    where = _where(arguments)
    for name in arguments.ids:
        try:
            entry = find_sandbox(name, where)
            where.inventory(entry.executor).kill(entry)
            killed.append(entry.id)
        except ForkError as error:
            failed[name] = str(error)

    def show(console: Console) -> None:
        for name in killed:
            console.print(f"killed {name}")
        for why in failed.values():
            console.print(why, style="red", soft_wrap=True)

    return CommandOutcome({"killed": killed, "failed": failed}, show, NOT_DONE if failed else DONE)

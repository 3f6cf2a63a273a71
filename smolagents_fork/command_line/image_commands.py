"""Commands about images and what is left of sandboxes: ``images`` and ``gc``."""

from __future__ import annotations

import argparse
import dataclasses
import sys

from rich.console import Console
from rich.prompt import Confirm
from rich.table import Table

from ..system.inventory import ImageEntry, Inventory, Removal, size_text
from ..terminal import TerminalConsole
from .inventories import INVENTORIES, Where
from .outcome import DONE, NOT_DONE, CommandOutcome, UsageError, age_text, listing

__all__ = ["gc", "images"]

_UNTAGGED = "(untagged)"


def images(_: argparse.Namespace) -> CommandOutcome:
    """List the images that the fork has built, the largest first."""
    entries = [entry for executor in _all_inventories() for entry in executor.images()]

    def show(console: Console) -> None:
        if not entries:
            console.print("no images: smolagents-fork setup docker builds one")
            return
        console.print(_table(entries))

    return CommandOutcome({"images": [dataclasses.asdict(entry) for entry in entries]}, show)


def _all_inventories() -> list[Inventory]:
    return [Where().inventory(executor) for executor in INVENTORIES]


def _table(entries: list[ImageEntry]) -> Table:
    table = listing("ID", "NAME", "SIZE", "OWN", "AGE", "PACKAGES", "IN USE")
    for entry in entries:
        table.add_row(
            entry.id,
            ", ".join(entry.names) or _UNTAGGED,
            size_text(entry.size_bytes),
            "-" if entry.own_bytes is None else size_text(entry.own_bytes),
            age_text(entry.created_at),
            "unknown" if entry.packages is None else " ".join(entry.packages) or "-",
            f"by {len(entry.used_by)}" if entry.used_by else "no",
        )
    return table


def gc(arguments: argparse.Namespace) -> CommandOutcome:
    """Remove containers whose owner is gone, and images that no container uses."""
    garbage = [
        (inventory, removal)
        for inventory in _all_inventories()
        for removal in inventory.garbage(arguments.match)
    ]
    removals = [removal for _, removal in garbage]
    data = {"found": [dataclasses.asdict(removal) for removal in removals]}
    asks = not (arguments.dry_run or arguments.yes)
    if removals and asks and (arguments.json or not sys.stdin.isatty()):
        raise UsageError(
            "nothing was removed: pass --yes to remove, or --dry-run to see what would be"
        )
    console = TerminalConsole(stderr=arguments.json)
    if removals and asks:
        _show_found(console, removals)
        if not Confirm.ask("Remove them?", default=False):
            return CommandOutcome(
                data, lambda console: console.print("nothing was removed"), NOT_DONE
            )
    if arguments.dry_run or not removals:
        return CommandOutcome(data, lambda console: _show_found(console, removals))
    kept: dict[str, str] = {}
    for inventory, removal in garbage:
        why = inventory.remove(removal)
        if why:
            kept[removal.id] = why

    def show(console: Console) -> None:
        if not asks:
            _show_found(console, removals)
        console.print(f"removed {len(removals) - len(kept)} of {len(removals)}")
        for name, why in kept.items():
            console.print(f"kept {name}: {why}", style="yellow", soft_wrap=True)

    removed = [removal.id for removal in removals if removal.id not in kept]
    return CommandOutcome(
        {**data, "removed": removed, "kept": kept}, show, NOT_DONE if kept else DONE
    )


def _show_found(console: Console, removals: list[Removal]) -> None:
    if not removals:
        console.print("nothing to remove")
        return
    table = listing("ID", "WHAT", "FREES", "NAME", "REASON")
    for removal in removals:
        table.add_row(
            removal.id,
            removal.what,
            "-" if removal.size_bytes is None else size_text(removal.size_bytes),
            ", ".join(removal.names) or _UNTAGGED,
            removal.reason,
        )
    console.print(table)
    least = sum(removal.size_bytes or 0 for removal in removals)
    console.print(f"frees at least {size_text(least)}, and layers that only these share")

"""A ``CodeAgent`` that answers a question about a file; ``executor_class`` runs its code.

Run it with ``make demo``, or, if the fork is installed, ``python -m examples demo``.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.console import Console
from smolagents import CodeAgent, Tool

from examples.models import ScriptedModel, choose_model
from examples.orders import ROWS, SEED, best_region, write_orders
from examples.sandbox import choose_executor

__all__ = ["QUESTION", "STEPS", "main"]

QUESTION = (
    "The tool `read_orders` gives the text of orders.csv. Which region has the highest mean order "
    "value (quantity times unit price), counting only orders that were not returned, and what is "
    "that mean? Answer with a list: the region, and the mean rounded to two digits."
)

# Output of the scripted model. This code computes the numbers from the file.
STEPS = [
    """I look at the file first.
<code>
import csv, io

rows = list(csv.DictReader(io.StringIO(read_orders())))
print(len(rows), "orders, columns:", ", ".join(rows[0]))
print("first:", rows[0])
</code>""",
    """Returned orders must go. I group what is left by region.
<code>
from collections import defaultdict

kept = [row for row in rows if row["returned"] == "no"]
print(len(rows) - len(kept), "orders were returned")
values = defaultdict(list)
for row in kept:
    values[row["region"]].append(int(row["quantity"]) * float(row["unit_price"]))
means = {region: sum(kept) / len(kept) for region, kept in values.items()}
for region, mean in sorted(means.items(), key=lambda item: -item[1]):
    print(f"{region:<6} {mean:8.2f}  ({len(values[region])} orders)")
</code>""",
    """The first line of that table is the answer.
<code>
best = max(means, key=means.get)
final_answer([best, round(means[best], 2)])
</code>""",
]


class ReadOrders(Tool):
    """Reader of the file on this machine; the code that calls it may not have the file.

    Args:
        path: the CSV file.
    """

    name = "read_orders"
    description = "Gives the text of orders.csv, with a header line."
    inputs: ClassVar[dict[str, dict[str, str]]] = {}
    output_type = "string"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def forward(self) -> str:
        """Return the text of the file."""
        return self.path.read_text("utf-8")


def main() -> int:
    """Run the demo; return exit status 1 if the answer differs from the directly computed one."""
    console = Console()
    path = write_orders(Path("build") / "demo" / "orders.csv")
    model, model_words = choose_model(STEPS)
    executor_class, executor_kwargs, executor_words = choose_executor()
    console.print(f"File:     {path}, {ROWS} rows generated from seed {SEED}")
    console.print(f"Model:    {model_words}", highlight=False)
    console.print(f"Executor: {executor_class.__name__}: {executor_words}", highlight=False)
    agent = CodeAgent(
        tools=[ReadOrders(path)],
        model=model,
        executor_class=executor_class,
        executor_kwargs=executor_kwargs,
        additional_authorized_imports=["csv", "io"],
        max_steps=6,
    )
    with agent:
        answer = agent.run(QUESTION)
    expected = list(best_region(path))
    console.print(f"Answer:   {answer}")
    if answer != expected:
        console.print(f"Computed directly: {expected}. The answer is wrong.", style="red")
        return 1 if isinstance(model, ScriptedModel) else 0
    console.print("Computed directly from the file: the same.", style="green")
    return 0

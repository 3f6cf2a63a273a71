"""A file goes in, a chart comes out: ``files=`` and ``get_file``, the same on every executor.

Run it with ``make demo EXAMPLE=report``, or, if the fork is installed,
``python -m examples report``.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from smolagents import CodeAgent

from examples.models import choose_model
from examples.orders import write_orders
from examples.sandbox import choose_executor

__all__ = ["STEPS", "TASK", "main"]

TASK = (
    "The file orders.csv has the columns region, quantity and unit_price. Draw a bar chart of the "
    "sales of each region as SVG, with open() in 'w' mode, in the file chart.svg. Answer with its "
    "name."
)

# Output of the scripted model. This code reads the file and draws the chart.
STEPS = [
    """I add up the sales of each region.
<code>
import csv

sales = {}
with open("orders.csv", newline="") as file:
    for row in csv.DictReader(file):
        value = int(row["quantity"]) * float(row["unit_price"])
        sales[row["region"]] = sales.get(row["region"], 0) + value
print({region: round(value) for region, value in sales.items()})
</code>""",
    """Now the chart.
<code>
highest = max(sales.values())
bars = ""
for number, (region, value) in enumerate(sorted(sales.items())):
    width, y = round(500 * value / highest), 20 + 40 * number
    bars += f'<rect x="80" y="{y}" width="{width}" height="30" fill="steelblue"/>'
    bars += f'<text x="10" y="{y + 20}">{region}</text>'
    bars += f'<text x="90" y="{y + 20}" fill="white">{value:,.0f}</text>'
with open("chart.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="200">{bars}</svg>')
final_answer("chart.svg")
</code>""",
]


def main() -> int:
    """Run the example; an agent that has made no chart ends it with an error."""
    console = Console()
    folder = Path("build") / "demo"
    orders = write_orders(folder / "orders.csv")
    model, model_words = choose_model(STEPS)
    executor_class, executor_kwargs, executor_words = choose_executor()
    console.print(f"Model:    {model_words}", highlight=False)
    console.print(f"Executor: {executor_class.__name__}: {executor_words}", highlight=False)
    agent = CodeAgent(
        tools=[],
        model=model,
        executor_class=executor_class,
        executor_kwargs={**executor_kwargs, "files": {"orders.csv": orders}},
        additional_authorized_imports=["csv"],
        max_steps=6,
    )
    with agent:
        agent.run(TASK)
        for file in agent.python_executor.list_files():
            console.print(f"File:     {file.path}, {file.size} bytes", highlight=False)
        content = agent.python_executor.get_file("chart.svg")
    chart = folder / "chart.svg"
    chart.write_bytes(content)
    console.print(f"Chart:    {chart}", highlight=False)
    return 0

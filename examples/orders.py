"""Data set of the demo: a shop's orders, generated from a seed so that the file is the same."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path

__all__ = ["ROWS", "SEED", "best_region", "write_orders"]

SEED = 20_260
ROWS = 2_400
REGIONS = ("north", "east", "south", "west")
PRODUCTS = {"kettle": 34.0, "lamp": 21.5, "chair": 89.0, "desk": 240.0, "rug": 65.0}


def write_orders(path: Path) -> Path:
    """Write the CSV file and return its path.

    Columns: ``order_id``, ``day`` (ISO 8601), ``region``, ``product``, ``quantity``,
    ``unit_price``, ``returned`` (``yes`` or ``no``).
    """
    generator = random.Random(SEED)
    first_day = date(2025, 1, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["order_id", "day", "region", "product", "quantity", "unit_price", "returned"]
        )
        for number in range(1, ROWS + 1):
            product = generator.choice(list(PRODUCTS))
            writer.writerow(
                [
                    number,
                    first_day + timedelta(days=generator.randrange(365)),
                    generator.choices(REGIONS, weights=(5, 4, 3, 2))[0],
                    product,
                    generator.choices((1, 2, 3, 8), weights=(10, 5, 3, 1))[0],
                    f"{PRODUCTS[product] * generator.uniform(0.8, 1.2):.2f}",
                    "yes" if generator.random() < 0.07 else "no",
                ]
            )
    return path


def best_region(path: Path) -> tuple[str, float]:
    """Return the region with the highest mean value of orders not returned, and that mean.

    The demo compares the agent's answer with this direct computation.
    """
    values: dict[str, list[float]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["returned"] == "no":
                values[row["region"]].append(int(row["quantity"]) * float(row["unit_price"]))
    means = {region: sum(orders) / len(orders) for region, orders in values.items()}
    best = max(means, key=lambda region: means[region])
    return best, round(means[best], 2)

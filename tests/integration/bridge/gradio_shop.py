"""A real Gradio app with one function behind it: ``python gradio_shop.py PORT``."""

from __future__ import annotations

import sys

import gradio

asked: list[str] = []


def price_of(product: str) -> str:
    """Return the price of a product, and the number of requests so far."""
    asked.append(product)
    return f"{product}: {len(product) * 10} euros, question {len(asked)}"


if __name__ == "__main__":
    app = gradio.Interface(price_of, "text", "text", api_name="price_of")
    app.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), share=False, quiet=True)

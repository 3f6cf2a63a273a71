"""A tool of a Gradio app, wrapped by upstream, called from a sandbox without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gradio_client
import pytest
from bridge_harness import code_agent
from gradio_process import gradio_process
from ports import free_port
from smolagents import Tool

SHOP = Path(__file__).with_name("gradio_shop.py")

# Warnings of the libraries at start and shutdown, not ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


class ShopTool:
    """Argument of ``Tool.from_gradio``: an object with a name, a description, and a ``run``.

    It replaces the class of ``gradio_tools``, which does not support Gradio's newer clients. Its
    ``run`` calls a Gradio app in the same way.
    """

    name = "price_of"
    description = "Gives the price of a product."

    def __init__(self, client: gradio_client.Client) -> None:
        self.client = client

    # As text: upstream looks the annotation up by its name.
    def run(self, product: str) -> str:
        return str(self.client.predict(product, api_name="/price_of"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gradio_client.Client]:
    """Give a client of the app on this machine's loopback."""
    port = free_port()
    with gradio_process(SHOP, [port], tmp_path_factory.mktemp("shop") / "app.log"):
        made = gradio_client.Client(
            f"http://127.0.0.1:{port}", verbose=False, analytics_enabled=False
        )
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def tool(client: gradio_client.Client) -> Tool:
    """Return a new tool, because its first call differs from later ones."""
    return Tool.from_gradio(ShopTool(client))


def test_a_tool_of_a_gradio_app(sandbox, tool):
    agent = code_agent(
        sandbox.executor,
        "one = price_of('lamp')\ntwo = price_of(product='rug')\nhelp(price_of)",
        "final_answer([one, two])",
        tools=[tool],
    )
    one, two = agent.run("go")
    assert one.startswith("lamp: 40 euros, question ")
    assert two.startswith("rug: 30 euros, question ")
    # The app kept its state from call to call.
    assert int(two.rpartition(" ")[2]) == int(one.rpartition(" ")[2]) + 1
    told = str(agent.memory.steps[1].observations)
    assert "price_of(product)" in told
    assert "Gives the price of a product." in told


def test_from_space_needs_an_older_client():
    """The page of the bridge says so: upstream passes an argument that gradio_client 2 renamed."""
    assert int(gradio_client.__version__.partition(".")[0]) >= 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'hf_token'"):
        Tool.from_space("owner/space", name="drawing", description="Draws.")

"""A manager whose code runs in a sandbox, and the agents and tools it calls on the host.

The manager's code asks two managed agents: one looks prices up with a tool that holds a password,
the other is a ``CodeAgent`` with a sandbox of its own. The password stays on this machine: a
sandbox has a function to call, and gets what it returns.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from rich.console import Console
from smolagents import ChatMessage, CodeAgent, MessageRole, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from examples.models import ScriptedModel
from examples.sandbox import choose_executor

__all__ = ["main"]

PASSWORD = "correct-horse-battery-staple"
PRICES = {"kettle": 34.0, "desk": 240.0}


class PriceList(Tool):
    """Looks a price up in a store that needs a password.

    Args:
        password: what the store asks for; it stays in this object, on this machine.
    """

    name = "price_of"
    description = "Gives the price of a product in euros."
    inputs: ClassVar[dict[str, dict[str, str]]] = {
        "product": {"type": "string", "description": "The product's name."}
    }
    output_type = "number"

    def __init__(self, password: str) -> None:
        super().__init__()
        self.password = password
        self.calls = 0

    def forward(self, product: str) -> float:
        """The price of one product."""
        if self.password != PASSWORD:
            raise PermissionError("the store refused the password")
        self.calls += 1
        return PRICES[product]


class ScriptedCaller(ScriptedModel):
    """A scripted model for a ``ToolCallingAgent``: each step is a tool's name and its arguments."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        super().__init__([])
        self.calls = list(calls)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:  # noqa: ARG002 - upstream's
        """The next call."""
        name, arguments = self.calls.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call-{len(self.calls)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


MANAGER_STEPS = [
    """I ask the two agents.
<code>
price_report = shop("What does a desk cost?")
tax_report = accountant("What is 19% of 240 euros?")
print(price_report)
print(tax_report)
</code>""",
    """Both reports are in.
<code>
final_answer({"price": 240.0, "tax": float(tax_report.split("is ")[-1].split(" ")[0])})
</code>""",
]


def main() -> int:
    """Run the example; the exit status is 1 when the answer is wrong."""
    console = Console()
    executor_class, executor_kwargs, words = choose_executor()
    console.print(f"Executor: {executor_class.__name__}: {words}", highlight=False)
    console.print("Model:    scripted models, prepared steps and no intelligence")
    prices = PriceList(PASSWORD)
    shop = ToolCallingAgent(
        tools=[prices],
        model=ScriptedCaller(
            [
                ("price_of", {"product": "desk"}),
                ("final_answer", {"answer": "a desk is 240.0 euros"}),
            ]
        ),
        name="shop",
        description="Knows what things cost.",
    )
    accountant = CodeAgent(
        tools=[],
        model=ScriptedModel(
            ["<code>\nfinal_answer(f'the tax is {240 * 0.19:.1f} euros')\n</code>"]
        ),
        name="accountant",
        description="Computes taxes.",
        executor_class=executor_class,
        executor_kwargs=executor_kwargs,
    )
    manager = CodeAgent(
        tools=[],
        managed_agents=[shop, accountant],
        model=ScriptedModel(MANAGER_STEPS),
        executor_class=executor_class,
        executor_kwargs=executor_kwargs,
    )
    with accountant, manager:
        answer = manager.run("What does a desk cost, and how much of 240 euros is tax at 19%?")
    console.print(f"Answer:   {answer}")
    console.print(f"The store was asked {prices.calls} time(s), on this machine.")
    return 0 if answer == {"price": 240.0, "tax": 45.6} and prices.calls == 1 else 1


if __name__ == "__main__":
    sys.exit(main())

"""A manager whose code runs in a sandbox, and the agents and tools it calls on the host.

The manager's code calls two managed agents. One looks up prices with a tool that has a password.
The other is a ``CodeAgent`` with its own sandbox. The password stays on this machine: code in a
sandbox calls a function and gets its return value.

Run it with ``make demo EXAMPLE=managed_agents``, or, if the fork is installed,
``python -m examples managed_agents``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rich.console import Console
from smolagents import ChatMessage, CodeAgent, MessageRole, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction
from smolagents.monitoring import LogLevel

from examples.models import ScriptedModel
from examples.sandbox import choose_executor

__all__ = ["main"]

PASSWORD = "correct-horse-battery-staple"
PRICES = {"kettle": 34.0, "desk": 240.0}


class PriceList(Tool):
    """Price lookup in a store that needs a password.

    Args:
        password: the store's password, which stays in this object, on this machine.
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
        """Return the price of one product."""
        if self.password != PASSWORD:
            raise PermissionError("the store refused the password")
        self.calls += 1
        return PRICES[product]


class ScriptedCaller(ScriptedModel):
    """Scripted model for a ``ToolCallingAgent``: each step is a tool's name and its arguments."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        super().__init__([])
        self.calls = list(calls)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:  # noqa: ARG002 - upstream's
        """Return the next call."""
        name, arguments = self.calls.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call-{len(self.calls)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


MANAGER_STEPS = [
    """I ask the shop for the price, and the accountant for the tax on it.
<code>
price_report = shop("What does a desk cost?")
price = float(price_report.split()[-2])
tax_report = accountant("What is the tax on the price, at 19%?", additional_args={"price": price})
print(price_report.splitlines()[-1])
print(tax_report.splitlines()[-1])
</code>""",
    """Both reports are in.
<code>
final_answer({"price": price, "tax": float(tax_report.split()[-2])})
</code>""",
]


def place_of(agent: CodeAgent) -> str:
    """Describe the place where the code of an agent runs."""
    container = getattr(agent.python_executor, "container", None)
    return f"container {container.short_id}" if container is not None else "this process"


def main() -> int:
    """Run the example; return exit status 1 if the answer is wrong."""
    console = Console(highlight=False)
    executor_class, executor_kwargs, words = choose_executor()
    console.print(f"Executor: {executor_class.__name__}: {words}")
    console.print("Model:    scripted models with prepared steps")
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
        verbosity_level=LogLevel.ERROR,  # its report is shown in the manager's step
    )
    accountant = CodeAgent(
        tools=[],
        model=ScriptedModel(
            ["<code>\nfinal_answer(f'the tax is {price * 0.19:.1f} euros')\n</code>"]
        ),
        name="accountant",
        description="Computes taxes.",
        executor_class=executor_class,
        executor_kwargs=executor_kwargs,
        verbosity_level=LogLevel.ERROR,
    )
    manager = CodeAgent(
        tools=[],
        managed_agents=[shop, accountant],
        model=ScriptedModel(MANAGER_STEPS),
        executor_class=executor_class,
        executor_kwargs=executor_kwargs,
    )
    with accountant, manager:
        console.print(f"manager:     writes code, run in {place_of(manager)}; calls the two below")
        console.print(f"accountant:  writes code, run in {place_of(accountant)}")
        console.print("shop:        calls price_of() on this machine, which has a password")
        answer = manager.run("What does a desk cost, and how much is the tax on it at 19%?")
    console.print(f"Answer:   {answer}")
    console.print(f"The store was asked {prices.calls} time(s), on this machine.")
    if answer != {"price": 240.0, "tax": 45.6} or prices.calls != 1:
        console.print("Expected {'price': 240.0, 'tax': 45.6} and one question.", style="red")
        return 1
    console.print("The manager's code saw two functions and their reports, and no password.")
    return 0

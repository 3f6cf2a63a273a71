"""``python -m examples [name]``: runs an example; ``make demo`` calls it."""

from __future__ import annotations

import importlib
import sys

from smolagents.utils import AgentGenerationError

from smolagents_fork.errors import ForkError

__all__ = ["EXAMPLES", "main"]

EXAMPLES = ("demo", "docker_quickstart", "managed_agents", "report")


def main(arguments: list[str]) -> int:
    """Run the example named by the first argument, by default ``demo``.

    Returns:
        The example's exit status; 1 for an error of the fork or of a model, which is printed in a
        line or two; 2 if the example does not exist.
    """
    name = arguments[0] if arguments else "demo"
    if name not in EXAMPLES:
        print(f"no example {name!r}; there are: {', '.join(EXAMPLES)}", file=sys.stderr)
        return 2
    try:
        status: int | None = importlib.import_module(f"examples.{name}").main()
    except ForkError as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except AgentGenerationError as error:
        print(
            f"{name}: {error}\nThe model could not be reached. Without HF_TOKEN and "
            "OPENAI_API_KEY, the example uses a scripted model.",
            file=sys.stderr,
        )
        return 1
    return status or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

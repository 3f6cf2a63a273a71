"""``python -m smolagents_fork``: the same as the command ``smolagents-fork``."""

from .command_line.main import main

if __name__ == "__main__":
    raise SystemExit(main())

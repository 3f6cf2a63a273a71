"""Hooks that the patches call: selection, saving and end of an agent's executor."""

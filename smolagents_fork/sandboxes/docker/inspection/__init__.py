"""Views of an engine from outside an executor: what is there, what is wrong, what can go."""

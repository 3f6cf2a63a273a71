"""Modules as programs see them: read-only views, and one table of overrides."""

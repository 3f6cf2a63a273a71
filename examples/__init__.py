"""Runnable examples: ``make demo``, or ``make demo EXAMPLE=name``."""

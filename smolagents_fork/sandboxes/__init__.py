"""Engines that run sandboxes: their common protocol, and one folder for each."""

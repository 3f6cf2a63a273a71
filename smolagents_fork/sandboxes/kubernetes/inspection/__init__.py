"""Pods as the command line lists them."""

"""Pools of ready sandboxes."""

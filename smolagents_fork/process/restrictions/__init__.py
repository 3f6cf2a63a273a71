"""Mechanisms of the kernel that confine a child, and counts that it shares with its user."""

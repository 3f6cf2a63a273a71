"""Processes, pipes and shortages of this machine, below every sandbox."""

"""The helper process, which alone calls Ray."""

"""The supervisor of a node and its sandboxes."""

"""Places that run sandboxes: the protocol that they share, and one folder an engine."""

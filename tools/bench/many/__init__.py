"""Many executors of each kind, opened, used and closed: rate, memory, and what is left."""

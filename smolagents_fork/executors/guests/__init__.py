"""What executors share whose programs run under a worker in a process of its own."""

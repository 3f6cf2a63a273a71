"""Parts of executors whose programs run under a worker in a separate process."""

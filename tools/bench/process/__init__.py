"""Times of the process executor, beside the interpreter in one's own process."""

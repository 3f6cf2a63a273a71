"""Images by their content: what is in one, and how it is built."""

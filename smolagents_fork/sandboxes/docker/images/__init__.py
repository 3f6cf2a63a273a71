"""Images by their content: what is in one, how it is built, and which requirements imports mean."""

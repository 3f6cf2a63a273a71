"""Images named by their content: their plans, builds and errors."""

"""The run of the project: its tests, which of them, and what they leave behind."""

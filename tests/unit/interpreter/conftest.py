"""Makes this folder importable for the tests in its rooms: ``program_harness``."""
